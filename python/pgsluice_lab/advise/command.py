"""The command `pgsluice-lab advise`: its question and its output."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict

import psycopg
import typer
from rich.console import Console

from pgsluice_lab.advise import Advice, Wish, advise, opened
from pgsluice_lab.failure import LabError

out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)


def run(wish: Wish, bar: Callable[[str], AbstractContextManager], yes: bool, as_json: bool) -> None:
    """Ask, measure, and print the advice; `bar` shows the progress."""
    if wish.file and str(wish.file) == "-":
        raise LabError("advice reads a file, not standard input", hint="Name a file.")
    try:
        with opened(wish.target, say=note) as site, ExitStack() as shown:

            def ask(text: str) -> None:
                asked(text, yes)

            def say(step: str, total: int) -> None:
                # A bar over the question would hide it.
                nonlocal progress
                progress = progress or shown.enter_context(bar("advise"))
                progress(step, total)

            progress = None
            advice = advise(site, wish, ask, say)
    except psycopg.Error as error:
        raise LabError("the server refused a query", str(error).strip()) from error
    except KeyboardInterrupt:
        raise LabError("interrupted", hint="The copies are dropped.", status=130) from None
    if as_json:
        out.print_json(json.dumps(report(advice)))
        return
    for line in advice.lines:
        out.print(line, markup=False, highlight=False)


def asked(text: str, yes: bool) -> None:
    """Print the plan, and ask for consent on a terminal."""
    note(text)
    if yes:
        return
    if not sys.stdin.isatty():
        raise LabError("nothing was measured, as nobody can be asked here", hint="Add --yes.")
    if not typer.confirm("Go on?", err=True):
        raise LabError("nothing was measured", status=1)


def note(text: str) -> None:
    err.print(text, markup=False, highlight=False)


def report(advice: Advice) -> dict:
    """Return all findings, for programs."""
    facts = asdict(advice.facts)
    return {
        "table": advice.facts.table,
        "sample": advice.source,
        "facts": facts,
        "loads": [asdict(load) for load in advice.figures.loads],
        "locks": advice.figures.locks,
        "lines": advice.lines,
    }
