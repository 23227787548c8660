"""The command line of `pgsluice-lab`."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from pgsluice import __version__
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pgsluice_lab import experiment as experiments
from pgsluice_lab import record, session, site
from pgsluice_lab import target as places
from pgsluice_lab.experiment import SCALES, Experiment, Scale
from pgsluice_lab.failure import LabError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Repeat published experiments on loading partitioned PostgreSQL, on your own server.",
)
out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)

Plan = tuple[Experiment, Scale]
RECORDS = Path("lab-records")
Records = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the records.")]
Target = Annotated[
    str | None,
    typer.Option(
        "--dbname", "-d", metavar="NAME|URL|CONNINFO",
        help="The server, as psql's -d; without it that of PG* or DATABASE_URL, else an embedded"
        " one.",
    ),
]  # fmt: skip
Rounds = typer.Option(min=1, metavar="N", help="Loads of each kind.")


def version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        typer.echo(f"pgsluice-lab {__version__}")
        raise typer.Exit


@app.callback()
def about(
    _: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options of all commands."""


@app.command("list")
def list_() -> None:
    """List the experiments, and how long each takes on two quiet cores."""
    found = experiments.experiments()
    table = Table("name", *SCALES, "question", box=None, pad_edge=False)
    for each in found:
        table.add_row(each.name, *(duration(each.scales[name].minutes) for name in SCALES),
                      each.question)  # fmt: skip
    totals = (sum(each.scales[name].minutes for each in found) for name in SCALES)
    table.add_row("all", *map(duration, totals), "")
    out.print(table, highlight=False)


@app.command(short_help="Run an experiment, or all of them.")
def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An experiment, or `all`.")],
    target: Target = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="An embedded server for this run, whatever PG* say.")
    ] = False,
    scale: Annotated[
        str, typer.Option(metavar="|".join(SCALES), help="How large; `list` says how long.")
    ] = "small",
    rounds: Annotated[int | None, Rounds] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Connections.")
    ] = None,
    records: Records = RECORDS,
    server_bin: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The programs of the embedded server, of other versions."),
    ] = None,
) -> None:
    """Run an experiment, or all; a run that was interrupted goes on where it stopped."""
    chosen = experiments.experiments() if name == "all" else [experiments.load(name)]
    plans = [(each, scaled(each, scale, rounds, jobs)) for each in chosen]
    failed = 0
    try:
        with site.opened(server(target, embedded, server_bin), server_bin) as place:
            err.print(f"measuring on {place.words}", highlight=False, markup=False)
            for each, size in left(plans, records, place):
                with bar(each.name) as say:
                    journal = session.run(each, size, place, records, say)
                failed += conclude(each, journal)
    except psycopg.Error as error:
        raise LabError("the server refused a query", str(error).strip()) from error
    except KeyboardInterrupt:
        hint = "Run the same command again, and it goes on from here."
        raise LabError("interrupted", hint=hint, status=130) from None
    if failed:
        raise LabError(f"{failed} loads did not come out right; the records say which and why")


def left(plans: list[Plan], records: Path, place: site.Site) -> list[Plan]:
    """Return the unfinished experiments, if the run of all of them was interrupted."""
    major = place.described()["major"]
    names = {f"{each.name}-{size.name}-pg{major}": (each, size) for each, size in plans}
    wanted = {name: (size.rounds, size.parameters) for name, (_, size) in names.items()}
    todo = record.remaining(wanted, records)
    if done := [each.name for name, (each, _) in names.items() if name not in todo]:
        err.print(f"going on; done before: {', '.join(done)}", highlight=False)
    return [names[name] for name in todo]


def server(target: str | None, embedded: bool, binaries: Path | None) -> str | None:
    """Return the connection string of the server to measure on; None for an embedded one."""
    if target is not None and (embedded or binaries):
        option = "--embedded" if embedded else "--server-bin"
        raise LabError(f"-d and {option} name two servers", hint="Leave one out.", status=2)
    return None if embedded or binaries else places.find(target)


def duration(minutes: float) -> str:
    """Return a time for people, with one or two digits."""
    for size, unit in ((24 * 60, "days"), (60, "h")):
        if minutes >= 2 * size or (unit == "h" and minutes >= size):
            return f"{minutes / size:.2g} {unit}"
    return f"{minutes:.0f} min"


@app.command(short_help="Write the report of the newest records.")
def report(
    records: Records = RECORDS,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page.")
    ] = Path("lab.html"),
    charts: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder for the charts as SVG and PNG files."),
    ] = None,
) -> None:
    """Write the report of the newest records: one HTML page, which needs no network."""
    from pgsluice_lab import report as pages

    page = pages.build(records, output.parent)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page)
    if charts:
        pages.images.write(records, charts)
    for sentence in pages.summary(records):
        out.print(sentence, highlight=False)
    out.print(str(output))


@app.command(short_help="Measure how best to load a table of yours.")
def advise(
    table: Annotated[
        str,
        typer.Option(
            "--table", "-t", metavar="TABLE", help='As in SQL: orders, sales.orders, "Orders".'
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Rows such as will be loaded; without it, some of the table's own.",
        ),
    ] = None,
    target: Target = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="csv|text", help="csv for names in .csv, else text."),
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="The first row is a header.")] = False,
    delimiter: Annotated[
        str, typer.Option(metavar="BYTE", help=r"One byte between fields; \t is a tab.")
    ] = "",
    null: Annotated[str | None, typer.Option(metavar="TEXT", help="How NULL is spelled.")] = None,
    quote: Annotated[
        str, typer.Option(metavar="BYTE", help="csv: the byte around quoted fields.")
    ] = "",
    columns: Annotated[
        str, typer.Option(metavar="A,B", help="The columns of the file, in its order.")
    ] = "",
    rows: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Rows to measure with, at most, and a tenth of them."
        ),
    ] = 200_000,
    rounds: Annotated[int, Rounds] = 3,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="Connections at most; one a processor, up to 8.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Measure without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all that was found.")] = False,
) -> None:
    """Measure on copies of a table of yours how to load it, and say so in ten lines."""
    from pgsluice_lab import advise as advice
    from pgsluice_lab.advise import command

    written = advice.Format.from_options(form, file, header, delimiter, null, quote, columns)
    wish = advice.Wish(table, file, written, rows, rounds, jobs or advice.processors(), target)
    command.run(wish, bar, yes, as_json)


def scaled(each: Experiment, name: str, rounds: int | None, jobs: int | None) -> Scale:
    """Return the scale of this name, with the overrides of the command line."""
    if name not in each.scales:
        raise LabError(f"there is no scale {name!r}", hint=f"There are: {', '.join(each.scales)}.")
    scale = each.scales[name]
    if rounds:
        scale = replace(scale, rounds=rounds)
    if jobs:
        scale = replace(scale, parameters={**scale.parameters, "jobs": jobs})
    return scale


def conclude(each: Experiment, journal: session.Run) -> int:
    """Print the record's path, omissions and failures; return the number of failed loads."""
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
    """Show the progress with the time left on a terminal, and nothing in a pipe."""
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
            # A step is announced when it begins, so the previous one is done.
            progress.update(task, total=total, step=step, advance=1 if begun and step else 0)
            begun = begun or bool(step)

        yield say


def main() -> None:
    """Run the command line; errors have PostgreSQL's form."""
    # On termination, the server is stopped and created objects are dropped, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except LabError as error:
        for line in error.lines():
            err.print(line, markup=False, highlight=False)
        sys.exit(error.status)
