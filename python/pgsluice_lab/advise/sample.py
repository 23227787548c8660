"""The rows for the measurement: the first rows of the input, or some of the table's own.

They first go through a table of the lab, and come out as COPY text with all columns, so that each
way to load gets the same bytes, whatever the input was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgsluice_lab import forms
from pgsluice_lab.advise import scratch
from pgsluice_lab.advise.facts import Facts
from pgsluice_lab.failure import LabError
from pgsluice_lab.inputs import Rows
from pgsluice_lab.report.numerals import digits
from pgsluice_lab.site import Site

# A block may contain fewer rows than the average.
MARGIN = 1.5
# The assumed size for a table that was never analyzed; with wider rows the sample is smaller.
BYTES_A_ROW = 100
# The limit of the sample, whatever number of rows was requested.
MOST = 1 << 28


@dataclass(frozen=True)
class Format:
    """The format of a file's rows, in COPY's terms and with COPY's defaults."""

    name: str = "text"
    header: bool = False
    delimiter: str = ""
    null: str | None = None
    quote: str = ""
    columns: str = ""

    @classmethod
    def from_options(
        cls,
        name: str | None,
        file: Path | None,
        header: bool,
        delimiter: str,
        null: str | None,
        quote: str,
        columns: str,
    ) -> "Format":
        """Return the format of these options; by default, the file's name decides."""
        if name not in (None, "csv", "text"):
            raise LabError(f"there is no format {name!r}", hint="There are: csv, text.", status=2)
        csv = file is not None and file.suffix.lower() == ".csv"
        name = name or ("csv" if csv else "text")
        if quote and name != "csv":
            raise LabError("--quote is for csv", hint="Add --format csv.", status=2)
        return cls(name, header, delimiter.replace("\\t", "\t"), null, quote, columns)

    @property
    def copy(self) -> str:
        r"""Return the options of `\copy`."""
        options = [f"FORMAT {self.name}"]
        options += ["HEADER"] if self.header and self.name == "csv" else []
        options += [f"DELIMITER {scratch.literal(self.delimiter)}"] if self.delimiter else []
        options += [f"NULL {scratch.literal(self.null)}"] if self.null is not None else []
        options += [f"QUOTE {scratch.literal(self.quote)}"] if self.quote else []
        return f"({', '.join(options)})"


@dataclass(frozen=True)
class Sample:
    """The sample. `total` is the approximate number of rows to load, if a file is given."""

    rows: Rows
    source: str
    total: int | None = None


def take_sample(
    facts: Facts, site: Site, file: Path | None, form: Format, rows: int, to: Path
) -> Sample:
    """Return about this number of rows, as COPY text in the folder `to`."""
    columns = ", ".join(facts.loaded)
    if not columns:
        raise LabError(f"{facts.table} has no columns to load")
    given = names(form.columns) if file and form.columns else facts.loaded
    safe(facts, given)
    whole, text = to / "input", to / "sample"
    total = None
    if file:
        wrote, size = cut(file, form, rows, whole)
        if wrote == 0:
            raise LabError(f"{file} has no rows", hint="Advice takes rows to measure with.")
        total = max(wrote, round(wrote * file.stat().st_size / size))
        options, order = form.copy, "ctid"
    else:
        wanted(facts, site)
        query = chosen(facts, columns, rows)
        script(site, to, f"\\copy ({query}) to {quoted(whole)}", "pg_catalog")
        # In their order in the table, they would be ordered by leaf, unlike any input.
        options, order = "", "md5(ctid::text)"
    schema = site.create()
    making = to / "intake.sql"
    making.write_text(scratch.intake(facts, given))
    try:
        site.script(making, schema, {})
        taking = f"\\copy {scratch.ROOT} ({', '.join(given)}) from {quoted(whole)} {options}"
        script(site, to, taking, schema)
    except LabError as error:
        hint = "Say how it is written: --format, --header, --delimiter, --null, --quote, --columns."
        about = f"the rows of {file} do not fit {facts.table}" if file else error.message
        raise LabError(
            about, scratch.original(error.detail, facts), hint if file else ""
        ) from error
    giving = f"SELECT {columns} FROM {scratch.ROOT} ORDER BY {order}"
    script(site, to, f"\\copy ({giving}) to {quoted(text)}", schema)
    [[count]] = site.query(f"SELECT count(*) FROM {schema}.{scratch.ROOT}")
    site.drop(schema)
    whole.unlink()
    if int(count) == 0:
        raise LabError(
            f"{file} has no rows" if file else f"{facts.table} has no rows, and no FILE is given",
            hint="Advice takes rows to measure with: name a FILE of such as will be loaded.",
        )
    source = f"{int(count):,} rows of the table itself, in random order"
    if file:
        most = f" of about {digits(total)}" if total > int(count) else ""
        source = f"the first {int(count):,}{most} rows of {file.name}"
    load = ("--format", "text", "--columns", columns.replace(", ", ","))
    return Sample(Rows(text, int(count), "", load, columns), source, total)


def names(columns: str) -> list[str]:
    """Return the column names of a comma-separated list; quoted names may contain commas."""
    found, quotes = [""], 0
    for letter in columns:
        quotes += letter == '"'
        if letter == "," and quotes % 2 == 0:
            found.append("")
        else:
            found[-1] += letter
    return [folded(name.strip()) for name in found]


def folded(name: str) -> str:
    """Return a name in quote_ident's form, as far as it matters: unquoted names in lower case."""
    if not name.startswith('"'):
        return name.lower()
    bare = name[1:-1]
    simple = bare.isascii() and bare.isidentifier() and bare == bare.lower()
    return bare if simple else name


def safe(facts: Facts, given: list[str]) -> None:
    """Reject a column that the server would fill by running the user's code."""
    for column in facts.columns:
        if column.code and column.name not in given:
            raise LabError(
                f"column {column.name} is not in the input, and its default calls a function"
                " that may write",
                hint="Give the column in the file for this, or leave FILE out.",
            )


def wanted(facts: Facts, site: Site) -> None:
    """Reject a table without rows before anything is created."""
    if site.query(f"SELECT 1 FROM {facts.root.name} LIMIT 1") == []:
        raise LabError(
            f"{facts.table} has no rows, and no FILE is given",
            hint="Advice takes rows to measure with: name a FILE of such as will be loaded.",
        )


def chosen(facts: Facts, columns: str, rows: int) -> str:
    """Return the query for this number of rows from the whole table, without reading all of it."""
    from_all = f"SELECT {columns} FROM {facts.root.name}"
    if any(node.kind == "f" for node in facts.nodes):
        return f"{from_all} LIMIT {rows}"
    known = facts.rows or facts.bytes // BYTES_A_ROW
    rows = max(1, min(rows, MOST * known // max(1, facts.bytes))) if known else rows
    if known > 2 * rows:
        percent = min(100, 100 * MARGIN * rows / known)
        from_all += f" TABLESAMPLE SYSTEM ({percent:.6f}) REPEATABLE (1)"
    # LIMIT alone would return the rows of the first leaves.
    return f"{from_all} ORDER BY md5(ctid::text || tableoid::text) LIMIT {rows}"


def cut(file: Path, form: Format, rows: int, to: Path) -> tuple[int, int]:
    """Copy the first rows of a file unchanged; return their number and their bytes."""
    wrote = size = 0
    try:
        with file.open("rb") as source, to.open("wb") as out:
            for number, record in enumerate(records(source, form)):
                header = form.header and number == 0
                if wrote == rows or size > MOST:
                    break
                # COPY text before PostgreSQL 15 supports no header.
                if not header or form.name == "csv":
                    out.write(record)
                wrote += not header
                size += len(record)
    except OSError as error:
        raise LabError(f"could not read {file}", error.strerror or str(error)) from error
    return wrote, size


def records(source: Iterator[bytes], form: Format) -> Iterator[bytes]:
    r"""Yield rows as COPY sees them: in CSV a quote opens and closes anywhere; `\.` is the end."""
    quote = (form.quote or '"').encode()
    row: list[bytes] = []
    size = quotes = 0
    for line in source:
        if not row and line.rstrip(b"\r\n") == b"\\.":
            return
        row.append(line)
        size += len(line)
        if form.name == "csv":
            quotes += line.count(quote)
            whole = quotes % 2 == 0
        else:
            ending = line.removesuffix(b"\n")
            whole = (len(ending) - len(ending.rstrip(b"\\"))) % 2 == 0
        if whole:
            yield b"".join(row)
            row, size, quotes = [], 0, 0
        elif size > MOST:
            begins = row[0][:60].decode(errors="replace")
            hint = "Is a quote missing, or --quote wrong?"
            raise LabError("a row is longer than 256 MiB", f"It begins: {begins}", hint)
    if row:
        yield b"".join(row)


def script(site: Site, folder: Path, line: str, schema: str) -> None:
    r"""Run one line of psql; `\copy` takes no variables, so it is written out."""
    file = folder / "step.sql"
    file.write_text(line + "\n")
    site.script(file, schema, {})


def quoted(file: Path) -> str:
    return f"'{forms.quoted(file)}'"
