"""A point of a case made ready: its tables, its input in all forms, and what is right."""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgsluice_lab import forms, inputs
from pgsluice_lab.engine import Engine
from pgsluice_lab.experiment import Case, Experiment, Point, Scale
from pgsluice_lab.failure import LabError
from pgsluice_lab.inputs import Rows
from pgsluice_lab.server import copy_command
from pgsluice_lab.site import Site

# Makes the input of a name, with these parameters.
Given = Callable[[str, Mapping[str, object]], Rows]
VARIABLES = ("$URL", "$ID")
COLUMNS = """SELECT attname FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
HELD = "SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1 ORDER BY 1"


@dataclass
class Stage:
    """A point: `held` is what each leaf must have after a load, where that is known."""

    case: Case
    point: Point
    names: dict[str, object]
    expected: int | None
    schema: str
    site: Site
    scratch: Path
    rows: Rows | None = None
    held: list[list[str]] | None = None
    files: dict[str, list[Path]] = field(default_factory=dict)

    @property
    def table(self) -> str:
        return f"{self.schema}.{self.case.table}"

    def reset(self, folder: Path) -> None:
        """Bring the table to what it is before each load."""
        if self.case.prepare:
            self.site.script(folder / self.case.prepare, self.schema, self.names)
        else:
            self.site.execute(f"TRUNCATE {self.table}")
        if self.case.vacuum:
            self.site.execute(f"VACUUM ANALYZE {self.table}")
        self.site.checkpoint()

    def commands(self, engine: Engine) -> list[list[str]]:
        """Return the programs of a load by this engine."""
        files = [self.rows.file] if self.rows else [Path()]
        if engine.form != "none" and not engine.oneself:
            files = self.files[engine.form]
        names = {
            **self.names,
            "load_id": self.site.load_id() if "{load_id}" in engine.command else "",
        }
        return [
            engine.arguments({**names, "file": file, "literal": f"'{forms.quoted(file)}'"})
            for file in files
        ]

    def shown(self, engine: Engine, command: list[str]) -> str:
        """Return a command as it can be shown: without what is only so on this machine."""
        program = (engine.find() or [engine.program])[0]
        parts = [Path(part).name if part == program else part for part in command]
        known = {self.site.url: "$URL", self.site.uri: "$URL?"}
        known |= {f"{self.scratch}/": "", f"{inputs.cache_folder()}/": ""}
        known[f"{self.names['folder']}/"] = ""
        known |= dict.fromkeys(self.site.loads[-1:], "$ID")
        for text, word in known.items():
            parts = [part.replace(text, word) for part in parts]
        return " ".join(part if part.startswith(VARIABLES) else quoted(part) for part in parts)

    def wrong(self, engine: Engine | None = None) -> str | None:
        """Return what is wrong with the rows that an engine has put into the table, if anything is.

        An engine without a file makes rows of its own, and so may fill other leaves.
        """
        held = self.site.query(HELD.format(table=self.table))
        count = sum(int(each) for _, each in held)
        if self.expected is not None and count != self.expected:
            return f"the table has {count:,} rows, not {self.expected:,}"
        of_file = engine is None or engine.form != "none"
        if of_file and self.held is not None and held != self.held:
            odd = sorted({leaf for leaf, _ in set(map(tuple, held)) ^ set(map(tuple, self.held))})
            return f"{len(odd)} leaves do not have the rows of COPY into the root, as {odd[0]}"
        return None


def prepare(
    experiment: Experiment,
    case: Case,
    scale: Scale,
    point: Point,
    engines: Iterable[Engine],
    site: Site,
    scratch: Path,
    given: Given = inputs.given,
) -> Stage:
    """Make the tables and files of a point."""
    schema = site.create()
    own = scratch / schema
    own.mkdir()
    parameters = case.parameters(scale, point)
    names = {**parameters, **case.variables}
    names = {
        name: each.format(**names) if isinstance(each, str) else each
        for name, each in names.items()
    }
    site.script(experiment.folder / case.schema, schema, names)
    stage = Stage(case, point, names, case.expected(scale, point), schema, site, own)
    stage.names |= {
        "url": site.url,
        "uri": site.uri,
        "schema": schema,
        "table": stage.table,
        "bare": case.table,
        "folder": experiment.folder,
        "scratch": own,
    }
    if case.input:
        stage.rows = rows = given(case.input, parameters)
        stage.names |= {"copy": rows.copy, "load": list(rows.load), "columns": rows.columns}
        stage.names["list"] = f" {forms.listed(rows.columns)}".rstrip()
        columns = site.query(COLUMNS, stage.table)
        stage.names["fields"] = [part for [column] in columns for part in ("--field", column)]
        wanted = {engine.form for engine in engines if not engine.oneself}
        fill(stage, wanted, int(stage.names["jobs"]))
    if script := case.variables.get("script"):
        filled(stage, experiment.folder / str(script))
    return stage


def fill(stage: Stage, wanted: set[str], jobs: int) -> None:
    """Load the input by the server's own COPY, which says what is right, and make its forms."""
    rows, own = stage.rows, stage.scratch
    stage.files["whole"] = forms.parts(rows.file, jobs, own) if "whole" in wanted else [rows.file]
    if stage.case.prepare:
        return  # what the table has besides its input is told by `counts`
    site, script = stage.site, own / "warm.sql"
    table = f"{stage.table} {forms.listed(rows.columns)}".strip()
    script.write_text(copy_command(table, rows.file, rows.copy) + "\n")
    site.script(script, stage.schema, {})
    stage.held = site.query(HELD.format(table=stage.table))
    if wrong := stage.wrong():
        raise LabError(f"{stage.case.name} {stage.point}: {wrong}", "COPY into the root says so.")
    if not wanted & {"ordered", "leaves"}:
        return
    files = forms.by_leaf(
        rows.columns,
        [leaf for leaf, _ in stage.held],
        own / "leaves",
        lambda dump: site.script(dump, stage.schema, {}),
    )
    if "ordered" in wanted:
        stage.files["ordered"] = forms.parts(forms.ordered(files, own / "ordered"), jobs, own)
    if "leaves" in wanted:
        stage.files["leaves"] = forms.scripts(files, rows.columns, jobs, own)
    else:
        for file in files.values():
            file.unlink()


def filled(stage: Stage, script: Path) -> None:
    r"""Write the case's script with names put in; psql's variables do not reach `\copy`."""
    text = script.read_text()
    file = stage.rows.file if stage.rows else Path()
    for name, value in {**stage.names, "literal": f"'{forms.quoted(file)}'"}.items():
        text = text.replace(f"{{{name}}}", str(value))
    stage.names["filled"] = stage.scratch / script.name
    stage.names["filled"].write_text(text)


def quoted(part: str) -> str:
    """Return a part of a command as a shell takes it, in the quotes that are easier to read."""
    return f'"{part}"' if "'" in part and not set(part) & set('"$`!') else shlex.quote(part)
