"""The forms of an input for engines: in parts, ordered by leaf, a file a leaf."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from pgsluice_lab.server import copy_command
from pgsluice_lab.shares import shares

BLOCK = 1 << 20
# Files of leaves are committed like pgsluice's transactions: without waiting for the disk, except
# for one commit at the end, which makes all earlier ones durable.
ASYNCHRONOUS = "SET synchronous_commit = off;"
FLUSH = "RESET synchronous_commit;\nSELECT pg_logical_emit_message(true, 'lab', '');"
# Returns the commands that load a leaf's file into it, given the columns and the format.
Bring = Callable[[str, Path, str, str], str]


def parts(file: Path, count: int, folder: Path) -> list[Path]:
    """Divide a file at line ends into `count` parts; no value may contain one."""
    if count == 1:
        return [file]
    size = file.stat().st_size
    with file.open("rb") as source:
        ends = [0]
        for number in range(1, count):
            source.seek(max(size * number // count, ends[-1]))
            source.readline()
            ends.append(source.tell())
        ends.append(size)
        return [
            copied(source, begin, end, folder / f"{file.stem}.{number}")
            for number, (begin, end) in enumerate(pairwise(ends))
            if begin < end
        ]


def copied(source, begin: int, end: int, to: Path) -> Path:
    """Copy these bytes into a separate file."""
    source.seek(begin)
    with to.open("wb") as out:
        while begin < end:
            block = source.read(min(BLOCK, end - begin))
            begin += len(block)
            out.write(block)
    return to


def by_leaf(
    columns: str,
    leaves: Iterable[str],
    folder: Path,
    run: Callable[[Path], None],
    order: str = "",
    options: str = "",
) -> dict[str, Path]:
    """Write the rows of each leaf into a separate file.

    They keep the order of the leaf, or are sorted by `order`; `options` are passed to COPY.
    """
    folder.mkdir()
    files = {leaf: folder / f"leaf{number}" for number, leaf in enumerate(leaves)}
    script = folder / "dump.sql"
    by = f" ORDER BY {order}" if order else ""
    script.write_text(
        "".join(
            f"\\copy (SELECT {columns or '*'} FROM ONLY {leaf}{by}) to '{quoted(file)}' {options}\n"
            for leaf, file in files.items()
        )
    )
    run(script)
    return files


def ordered(files: dict[str, Path], to: Path) -> Path:
    """Write the rows of all leaves, one leaf after the other."""
    with to.open("wb") as out:
        for file in files.values():
            with file.open("rb") as source:
                while block := source.read(BLOCK):
                    out.write(block)
    return to


def copied_in(leaf: str, file: Path, columns: str, options: str) -> str:
    r"""Return the `\copy` of a file into its leaf."""
    return copy_command(f"{leaf} {listed(columns)}".strip(), file, options)


def staged(leaf: str, file: Path, columns: str, options: str) -> str:
    """Return the commands to load a file into its leaf by hand, except for existing rows."""
    return "\n".join(
        [
            f"CREATE TEMPORARY TABLE staged (LIKE {leaf});",
            copied_in("staged", file, columns, options),
            f"INSERT INTO {leaf} SELECT * FROM staged ON CONFLICT DO NOTHING;",
            "DROP TABLE staged;",
        ]
    )


def scripts(
    files: dict[str, Path],
    columns: str,
    jobs: int,
    folder: Path,
    options: str = "",
    bring: Bring = copied_in,
) -> list[Path]:
    """Write `jobs` psql scripts, which share the files and load each of them into its leaf."""
    sizes = {
        bring(leaf, file, columns, options): file.stat().st_size for leaf, file in files.items()
    }
    made = []
    for number, share in enumerate(shares(sizes, jobs)):
        if share:
            made.append(folder / f"leaves{number}.sql")
            made[-1].write_text("\n".join([ASYNCHRONOUS, *share, FLUSH]) + "\n")
    return made


def quoted(file: Path) -> str:
    return str(file).replace("'", "''")


def listed(columns: str) -> str:
    """Return the column list after a table's name; empty for all columns."""
    return f"({columns})" if columns else ""
