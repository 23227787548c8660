#!/usr/bin/env python3
"""Check that every link of the documentation leads to an existing file and heading.

Links to the web are not followed: the result depends only on the project.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "bench/*.md", "docs/**/*.md")
MARKDOWN = MarkdownIt("commonmark").enable("table")


def main(root: Path) -> int:
    """Print each broken link of a project, and return the exit status."""
    broken = [each for page in pages(root) for each in wrong(page, root)]
    print("".join(f"links: {each}\n" for each in broken), end="", file=sys.stderr)
    return 1 if broken else 0


def pages(root: Path) -> list[Path]:
    """Return the pages of the documentation."""
    return sorted(page for pattern in PAGES for page in root.glob(pattern))


def wrong(page: Path, root: Path) -> Iterator[str]:
    """Yield the broken links of a page, with the reason."""
    for link in links(page):
        file, anchor = target(page, link)
        where = f"{page.relative_to(root)}: {link}"
        if not file.is_relative_to(root) or not file.exists():
            yield f"{where}: there is no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{where}: there is no such heading"


def links(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures, except the web."""
    found = [
        str(token.attrs.get("href") or token.attrs.get("src"))
        for token in inline(MARKDOWN.parse(page.read_text(encoding="utf-8")))
        if token.type in ("link_open", "image")
    ]
    return [link for link in found if not urlsplit(link).scheme]


def target(page: Path, link: str) -> tuple[Path, str]:
    """Return the file that a link of a page leads to, and the anchor in it."""
    parts = urlsplit(link)
    file = page.parent / unquote(parts.path) if parts.path else page
    return file.resolve(), unquote(parts.fragment)


def anchors(file: Path) -> set[str]:
    """Return the anchors of a page: its headings in GitHub's form."""
    tokens = MARKDOWN.parse(file.read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    found = set()
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            slug = spelled(heading)
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def spelled(heading: Token) -> str:
    words = "".join(token.content for token in inline([heading]))
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def inline(tokens: list[Token]) -> Iterator[Token]:
    """Yield the inline tokens of a page."""
    for token in tokens:
        yield from token.children or ()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT))
