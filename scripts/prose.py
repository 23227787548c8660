#!/usr/bin/env python3
"""Counts foreign constructions in English prose, per 10,000 words, or lists them.

    prose.py [ROOT]               rates of doc comments, Markdown and commit subjects
    prose.py [ROOT] --list N      the N files with the most hits, with lines
    prose.py [ROOT] --added BASE  hits in lines added since BASE; a report, no failure

Models, counted the same way: ripgrep 12, rust-postgres 18, supabase/etl 5 (doc comments);
ripgrep 10, etl 2, hyperfine 0 (Markdown).
"""

import argparse
import re
import subprocess
from collections import Counter
from pathlib import Path

PATTERNS = {
    "a sentence that begins with 'Of'": (
        r"(?:^|[.!?:]\s+|\n)Of (?:a|an|the|all|some|several|what|each|its|their|these"
        r"|those|such|so|whom|one|two|many)\b"
    ),
    "'What ...' as a subject": r"(?:^|[.;!?:]\s+|\n)What [a-z]+(?! is the)[^.?\n]{3,60}",
    "'there is none', 'if there is one'": (
        r"\b(?:there (?:is|are) none|if there is one|none is\b|none if|if it can\b)"
    ),
    "whoever, nobody, somebody, 'for who'": r"\b(?:whoever|nobody|somebody|for who |by who )",
    "'of which'": r"\bof which\b",
    "'is no X'": (
        r"\b(?:is|are|was|were|be) no (?!longer|more|one|such|need|way|reason|point"
        r"|different|better|worse)\w+"
    ),
    "'as it stands', 'as ever'": r"\b(?:as (?:they|it) (?:stands?|was|were|is|are)|as ever)\b",
    "'so many' without 'that' or 'as'": r"\bso (?:many|long|few|much|large)\b(?! that| as)",
    "anew, meanwhile, likewise ...": (
        r"\b(?:anew|meanwhile|beforehand|by now|likewise|thereby|therein)\b"
    ),
    "'is said', 'says so', 'is told'": (
        r"\b(?:is|are|was) (?:said|told|led|met)\b|\bsays so\b|\bsaid so\b"
    ),
    "'that which', 'those of', 'the one of'": (
        r"\b(?:that which|those (?:of|who)|the ones? (?:of|before))\b"
    ),
    "'The same.' as a sentence": r"(?:^|\n|\. )The same\b",
}


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True).stdout


def doc_comments(text: str) -> str:
    lines, in_code = [], False
    for line in text.splitlines():
        found = re.match(r"\s*//[/!]\s?(.*)", line)
        if not found:
            in_code = False
        elif found[1].startswith("```"):
            in_code = not in_code
        elif not in_code:
            lines.append(found[1])
            continue
        lines.append("")
    return "\n".join(lines)


def markdown(text: str) -> str:
    text = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), text, flags=re.S)
    return "\n".join("" if line.startswith("    ") else line for line in text.splitlines())


def surfaces(root: Path) -> dict[str, dict[str, str]]:
    files = [path for path in git(root, "ls-files").splitlines() if (root / path).is_file()]

    def read(path: str) -> str:
        return (root / path).read_text(errors="replace")

    rust = [path for path in files if path.endswith(".rs")]
    return {
        "doc comments": {p: doc_comments(read(p)) for p in rust if "/src/" in p},
        "doc comments of tests": {p: doc_comments(read(p)) for p in rust if p.startswith("tests/")},
        "Markdown": {
            p: markdown(read(p)) for p in files if p.endswith(".md") and "command-line" not in p
        },
        "the last 100 commit subjects": {"git log": git(root, "log", "--format=%s", "-100")},
    }


def hits(text: str):
    text = re.sub(r"`[^`\n]*`", "X", text)
    for name, pattern in PATTERNS.items():
        for found in re.finditer(pattern, text):
            start = found.start() + (found[0][:1] == "\n")
            line = text[
                text.rfind("\n", 0, start) + 1 : (text.find("\n", start) + 1 or len(text) + 1) - 1
            ]
            yield name, text.count("\n", 0, start) + 1, line.strip()


def added(root: Path, base: str):
    """Yields the prose of each added block of lines: its file, its first line and its text."""
    path, start, lines = "", 0, []
    diff = git(root, "diff", "-U0", base, "--", "*.rs", "*.md", ":!docs/manual/command-line.md")
    for line in [*diff.splitlines(), "@@"]:
        if line.startswith(("@@", "+++")):
            prose = doc_comments if path.endswith(".rs") else markdown
            if lines:
                yield path, start, prose("\n".join(lines))
            lines = []
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif found := re.match(r"@@ \S+ \+(\d+)", line):
            start = int(found[1])
        elif line.startswith("+"):
            lines.append(line[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", nargs="?", type=Path, default=Path())
    parser.add_argument("--list", type=int, metavar="N")
    parser.add_argument("--added", metavar="BASE")
    options = parser.parse_args()
    if options.added:
        for path, start, prose in added(options.root, options.added):
            for name, line, text in hits(prose):
                print(f"{path}:{start + line - 1}: {name}: {text}")
        return
    for surface, texts in surfaces(options.root).items():
        words = sum(len(re.findall(r"[A-Za-z']+", text)) for text in texts.values())
        found = [(path, *hit) for path, text in texts.items() for hit in hits(text)]
        print(
            f"{10000 * len(found) / max(words, 1):6.0f}  per 10,000 of {words:,} words: {surface}"
        )
        if options.list:
            for path, _ in Counter(path for path, *_ in found).most_common(options.list):
                for name, line, text in (hit[1:] for hit in found if hit[0] == path):
                    print(f"        {path}:{line}: {name}: {text}")


if __name__ == "__main__":
    main()
