#!/usr/bin/env python3
"""List the messages, details, hints and help lines of the program: `messages.py [ROOT]`.

Each line has the file and the text, so that the lists of two commits can be compared with diff. SQL
and literals of fewer than three words are left out.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# The tokens of a Rust file, as far as literals are concerned; only strings and doc comments have a
# name.
TOKEN = re.compile(
    r"""
    ^\s*///[ ]?(?P<doc>[^\n]*) | //[^\n]* | /\*.*?\*/
    | b?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)
    | b?"(?P<string>(?:[^"\\]|\\.)*)"
    | b?'(?:[^'\\\n]|\\[^\n]{1,8}?)'
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
SQL = re.compile(
    r"\s*\(?(?:SELECT|WITH|INSERT|SET|COPY|CREATE|ALTER|DROP|BEGIN|UPDATE|DELETE|FROM|LOCK|MERGE|ORDER"
    r"|WHERE|AND|JOIN|LEFT|ANALYZE|TRUNCATE|VALUES|RETURNING|CASE|PREPARE|COMMIT|DECLARE|UNION)\b"
)
# An option or a command between two literals of a text, or before the first.
NAMED = re.compile(
    r'(?P<text>"\s*\+\s*)?(?P<kind>option|command)\("(?P<name>[^"]+)"\)(?:\.of\("(?P<value>[^"]*)"\))?'
    r'\s*\+\s*"'
)
# Files whose doc comments are the help of the command line.
HELP = re.compile(r"#\[derive\([^)]*\b(?:Args|Parser|Subcommand|ValueEnum)\b")


def spelled(named: re.Match[str]) -> str:
    """Return an option or a command as a part of the literals around it."""
    dashes = "--" if named["kind"] == "option" else ""
    value = f" {named['value']}" if named["value"] else ""
    return f"{'' if named['text'] else chr(34)}{dashes}{named['name']}{value}"


def texts(source: str) -> Iterator[str]:
    """Return the prose of a Rust file, in order."""
    source = source.partition("#[cfg(test)]\nmod tests {")[0]
    source = NAMED.sub(spelled, source)
    has_help = HELP.search(source)
    help_lines: list[str] = []
    for found in TOKEN.finditer(source):
        if found["doc"] is not None:
            help_lines.append(found["doc"].strip())
            continue
        if has_help and help_lines:
            yield " ".join(help_lines)
        help_lines = []
        if found["string"] is not None:
            yield re.sub(r"\\\n\s*", "", found["string"])


def is_prose(text: str) -> bool:
    """Whether a text has three words, and is not SQL."""
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{[^}]*\}", "", text))
    return len(words) >= 3 and " " in text and "OPERATOR(" not in text and not SQL.match(text)


def main(root: Path) -> None:
    """Print the list for a checkout."""
    for path in sorted(root.glob("crates/*/src/**/*.rs")):
        if "testing" in path.parts or path.name == "tests.rs":
            continue
        for text in filter(is_prose, texts(path.read_text(encoding="utf-8"))):
            print(f"{path.relative_to(root)}: {' '.join(text.split())}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
