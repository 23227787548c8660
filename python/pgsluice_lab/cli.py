"""The command line of `pgsluice-lab`."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pgsluice_lab import experiment as experiments
from pgsluice_lab import session, site
from pgsluice_lab.experiment import SCALES, Experiment, Scale
from pgsluice_lab.failure import LabError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Repeat published experiments on loading partitioned PostgreSQL, on your own server.",
)
out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)

RECORDS = Path("lab-records")
Records = Annotated[Path, typer.Option(help="The folder of the records.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--dbname", "-d", metavar="CONNINFO",
        help="The server to measure on, as psql's -d; without it, an embedded one for this run.",
    ),
]  # fmt: skip


@app.command("list")
def list_() -> None:
    """List the experiments."""
    table = Table("name", "question", "seed", box=None, pad_edge=False)
    for each in experiments.experiments():
        table.add_row(each.name, each.question, each.seed)
    out.print(table)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An experiment, or `all`.")],
    target: Target = None,
    scale: Annotated[str, typer.Option(help=f"How large: {', '.join(SCALES)}.")] = "small",
    rounds: Annotated[int | None, typer.Option(min=1, help="Loads of each kind.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Connections.")] = None,
    records: Records = RECORDS,
    server_bin: Annotated[
        Path | None, typer.Option(help="The programs of the embedded server, of another version.")
    ] = None,
) -> None:
    """Run an experiment, or all; a run that was interrupted goes on where it stopped."""
    chosen = experiments.experiments() if name == "all" else [experiments.load(name)]
    plans = [(each, scaled(each, scale, rounds, jobs)) for each in chosen]
    failed = 0
    try:
        with site.opened(target, server_bin) as place:
            if target is None:
                err.print(f"measuring on an embedded PostgreSQL {place.described()['version']}")
            for each, size in plans:
                with bar(each.name) as say:
                    journal = session.run(each, size, place, records, say)
                failed += conclude(each, journal)
    except KeyboardInterrupt:
        hint = "Run the same command again, and it goes on from here."
        raise LabError("interrupted", hint=hint, status=130) from None
    if failed:
        raise LabError(f"{failed} loads did not come out right; the records say which and why")


@app.command()
def report(
    records: Records = RECORDS,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("lab.html"),
    charts: Annotated[
        Path | None, typer.Option(help="A folder for the charts as SVG and PNG files.")
    ] = None,
) -> None:
    """Write the report of the newest records: one HTML page, which needs no network."""
    from pgsluice_lab import report as pages

    page = pages.build(records)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page)
    if charts:
        pages.images.write(records, charts)
    for sentence in pages.summary(records):
        out.print(sentence, highlight=False)
    out.print(str(output))


@app.command()
def advise(
    table: Annotated[
        str, typer.Option("--table", "-t", help='As in SQL: orders, sales.orders, "Orders".')
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="Rows such as will be loaded; without it, some of the table's own."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--dbname",
            "-d",
            metavar="CONNINFO",
            help="The server, as psql's -d; without it the environment's, else the embedded one.",
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="csv or text; csv for names in .csv.")
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="The first row is a header.")] = False,
    delimiter: Annotated[str, typer.Option(help=r"One byte between fields; \t is a tab.")] = "",
    null: Annotated[str | None, typer.Option(help="How NULL is spelled.")] = None,
    quote: Annotated[str, typer.Option(help="csv: the byte around quoted fields.")] = "",
    columns: Annotated[str, typer.Option(help="The columns of the file, in its order.")] = "",
    rows: Annotated[int, typer.Option(min=1, help="Rows to measure with, at most.")] = 200_000,
    rounds: Annotated[int, typer.Option(min=1, help="Loads of each kind.")] = 3,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Connections at most; one a processor, up to 8."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Measure without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all that was found.")] = False,
) -> None:
    """Measure on copies of a table of yours how to load it, and say so in ten lines."""
    from pgsluice_lab import advise as advice
    from pgsluice_lab.advise import command

    written = advice.Format.of(form, file, header, delimiter, null, quote, columns)
    wish = advice.Wish(table, file, written, rows, rounds, jobs or advice.processors(), target)
    command.run(wish, bar, yes, as_json)


def scaled(each: Experiment, name: str, rounds: int | None, jobs: int | None) -> Scale:
    """Return the scale of this name, with what the command line says otherwise."""
    if name not in each.scales:
        raise LabError(f"there is no scale {name!r}", hint=f"There are: {', '.join(each.scales)}.")
    scale = each.scales[name]
    if rounds:
        scale = replace(scale, rounds=rounds)
    if jobs:
        scale = replace(scale, parameters={**scale.parameters, "jobs": jobs})
    return scale


def conclude(each: Experiment, journal: session.Run) -> int:
    """Print where the record is, what was left out and what failed; return how many loads did."""
    for engine in journal.head.engines.values():
        if engine.missing:
            err.print(f"{each.name}: left out {engine.title}: {engine.missing}")
    bad = [load for load in journal.loads if not load.done]
    for load in bad:
        where = " ".join(f"{name}={value}" for name, value in load.point.items())
        about = f"{load.case} {where} {load.engine}, round {load.round}"
        err.print(f"{each.name}: {about}: {load.status}: {load.reason}", markup=False)
    if journal.ended:
        from pgsluice_lab import report as pages

        for sentence in pages.summary(journal.file.parent, {each.name}):
            out.print(sentence, highlight=False, markup=False)
    out.print(str(journal.file))
    return sum(load.status != "stopped" for load in bad)


@contextmanager
def bar(name: str) -> Iterator[session.Say]:
    """Show the progress with the time left, on a terminal; in a pipe, nothing."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[step]}"),
    )
    with Progress(*columns, console=err, disable=not err.is_terminal, transient=True) as progress:
        task = progress.add_task(name, total=None, step="")
        begun = False

        def say(step: str, total: int) -> None:
            nonlocal begun
            # What is told begins now, so that what was told before is done.
            progress.update(task, total=total, step=step, advance=1 if begun and step else 0)
            begun = begun or bool(step)

        yield say


def main() -> None:
    """Run the command line; errors are said as PostgreSQL says them."""
    # Whoever ends us, the server is stopped and what was made is dropped, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except LabError as error:
        for line in error.lines():
            err.print(line, markup=False, highlight=False)
        sys.exit(error.status)
