#!/usr/bin/env python3
"""Counts foreign constructions in English prose, per 10,000 words, or lists them.

    prose.py [ROOT]               rates of doc comments, Markdown and commit subjects
    prose.py [ROOT] --list N      the N files with the most hits, with lines
    prose.py [ROOT] --added BASE  hits in lines added since BASE, as a report; fails if the doc of
                                  a function that was added since then begins without a verb

Models, counted the same way: ripgrep 12, rust-postgres 18, supabase/etl 5 (doc comments);
ripgrep 10, etl 2, hyperfine 0 (Markdown).
"""

import argparse
import ast
import re
import subprocess
import sys
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

# The doc of a Rust function: its first line, and the attributes between the doc and the function.
RUST_DOC = re.compile(
    r"^[ \t]*///(?!/) ?(.*)\n(?:[ \t]*///.*\n)*"
    r"((?:\s*(?:#\[[^][]*(?:\[[^][]*\][^][]*)*\]|//(?!/).*))*)"
    r"\s*(?:pub(?:\([^)]*\))? )?(?:default |const |async |safe |unsafe |extern \"\w+\" )*fn \w",
    re.M,
)
# How a verb looks in Rust and in Python, by an example. In Python neither plurals of nouns nor
# participles match.
VERBS = {
    "Returns": re.compile(r"[A-Z][a-z-]*s"),
    "Return": re.compile(
        r"(?!(?:Is|Has|Was|.*[^aisu]s|.+[aeiouy].*ing|.+[^e]ed)$)[A-Z][a-z-]*",
    ),
}
# Other words that look like verbs.
NO_VERB = re.compile(
    "A|After|All|Also|Always|An|Another|Any|As|At|Because|Before|Besides|Both|By|Bytes|Columns"
    "|During|Each|Either|Enough|Every|For|From|Here|How|If|In|It|Its|Like|Neither|No|None|Not"
    "|Nothing|Of|On|Once|One|Only|Otherwise|Perhaps|Rows|Several|Since|So|Some|Something|Sometimes"
    "|Such|That|The|Their|Then|There|These|They|This|Those|Three|Thus|To|Two|Unless|Until|What|When"
    "|Where|Which|While|Who|Whose|Why|With|Without"
)


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


def begins_with_verb(doc: str, example: str) -> bool:
    """Whether the doc begins with a verb in the form of the example, or with "Whether"."""
    word, following = [*re.findall(r"[^\s,.:;]+", doc)[:2], "", ""][:2]
    # "Number of rows" has no verb.
    if NO_VERB.fullmatch(word) or (following == "of" and not re.match("Consist|Dispos", word)):
        return False
    return word == "Whether" or bool(VERBS[example].fullmatch(word))


def rust_docs(path: str, text: str):
    """Yield the line, the first line of text and the example for each doc of a function."""
    for found in RUST_DOC.finditer(text):
        start = found.start()
        if "test]" in found[2]:
            continue
        # These docs are docstrings in Python.
        is_python = path.startswith("crates/py/") and (
            "#[pyfunction" in found[2]
            or text.rfind("\n#[pymethods]", 0, start) > text.rfind("\n}", 0, start)
        )
        yield text.count("\n", 0, start) + 1, found[1], "Return" if is_python else "Returns"


def python_docs(text: str):
    """Yield the line, the first line of text and the example for each docstring of a function.

    Properties are left out: their docstrings describe a value.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node)
            if doc and not any("property" in ast.unparse(each) for each in node.decorator_list):
                yield node.body[0].lineno, doc.splitlines()[0], "Return"


def docs_without_verb(path: str, text: str):
    """Return the docs of functions that do not begin with a verb.

    Tests are left out: the names of their functions are sentences, which the docs continue.
    """
    docs = ()
    if path.endswith(".rs") and "/src/" in path:
        docs = rust_docs(path, text)
    elif path.endswith((".py", ".pyi")) and "tests/" not in path:
        docs = python_docs(text)
    return (each for each in docs if not begins_with_verb(*each[1:]))


def added(root: Path, base: str):
    """Yield each added block of lines: its file, its first line and its text."""
    path, start, lines = "", 0, []
    files = ["*.rs", "*.md", "*.py", "*.pyi", ":!docs/manual/command-line.md"]
    diff = git(root, "diff", "-U0", "--relative", "--dst-prefix=b/", base, "--", *files)
    for line in [*diff.splitlines(), "@@"]:
        if line.startswith(("@@", "+++")):
            if lines:
                yield path, start, lines
            lines = []
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif found := re.match(r"@@ \S+ \+(\d+)", line):
            start = int(found[1])
        elif line.startswith("+"):
            lines.append(line[1:])


def check_added(root: Path, base: str) -> bool:
    """Report the hits in lines added since `base`. Return whether all docs begin with a verb."""
    added_lines: dict[str, set[int]] = {}
    for path, start, lines in added(root, base):
        added_lines.setdefault(path, set()).update(range(start, start + len(lines)))
        if path.endswith((".rs", ".md")):
            prose = doc_comments if path.endswith(".rs") else markdown
            for name, line, text in hits(prose("\n".join(lines))):
                print(f"{path}:{start + line - 1}: {name}: {text}")
    is_good = True
    for path, numbers in added_lines.items():
        text = (root / path).read_text(errors="replace")
        for line, doc, example in docs_without_verb(path, text):
            if line in numbers:
                is_good = False
                problem = f"the doc does not begin with a verb such as {example}"
                print(f"{path}:{line}: {problem}: {doc}", file=sys.stderr)
    return is_good


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", nargs="?", type=Path, default=Path())
    parser.add_argument("--list", type=int, metavar="N")
    parser.add_argument("--added", metavar="BASE")
    options = parser.parse_args()
    if options.added:
        sys.exit(not check_added(options.root, options.added))
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
