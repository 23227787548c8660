#!/usr/bin/env python3
"""Gather the pages of the site: the documentation, and the files that it links to.

They are in several directories here, and mkdocs accepts one. Each keeps its path, so that its links
lead to the same files. In HTML files, links to pages are rewritten for the site.
"""

import re
import shutil
import sys
from pathlib import Path

from links import ROOT, links, pages, target

PAGE = re.compile(r'href="([A-Z]+)\.md"')


def main(place: Path) -> None:
    """Copy all of them below this directory, replacing its contents."""
    shutil.rmtree(place, ignore_errors=True)
    for file in files():
        copy = place / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".html":
            text = file.read_text(encoding="utf-8")
            copy.write_text(PAGE.sub(r'href="\1.html"', text), encoding="utf-8")
        else:
            shutil.copyfile(file, copy)


def files() -> set[Path]:
    """Return the pages and the files that they link to."""
    found = pages(ROOT)
    linked = {target(page, link)[0] for page in found for link in links(page)}
    return {*found, *(file for file in linked if file.is_file())}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
