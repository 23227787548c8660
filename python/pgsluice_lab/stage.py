"""A prepared point of a case: its tables, its input in all forms, and the expected result."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgsluice_lab import forms, inputs
from pgsluice_lab.arithmetic import evaluate
from pgsluice_lab.engine import BY_LEAF, Engine
from pgsluice_lab.experiment import Case, Experiment, Point, Scale
from pgsluice_lab.failure import LabError
from pgsluice_lab.inputs import Rows
from pgsluice_lab.server import copy_command
from pgsluice_lab.site import Site

# Creates the input of a name, with these parameters.
Given = Callable[[str, Mapping[str, object]], Rows]
# Returns the address of the server for programs at a point with these parameters.
Reach = Callable[[Site, Mapping[str, object]], str]
VARIABLES = ("$URL", "$SOURCE", "$ID")
COLUMNS = """SELECT attname FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
# The format of the files of each form, and the function that loads one into its leaf.
LEAF_FILES = {
    "leaves": ("", forms.copied_in),
    "leaves-binary": ("with (format binary)", forms.copied_in),
    "staged-leaves": ("", forms.staged),
}
HELD = "SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1 ORDER BY 1"


@dataclass
class Stage:
    """A point: `there` are each leaf's rows before a load, `added` those that it gets, if known."""

    case: Case
    point: Point
    names: dict[str, object]
    expected: int | None
    schema: str
    site: Site
    scratch: Path
    rows: Rows | None = None
    there: Counter[str] = field(default_factory=Counter)
    added: Counter[str] | None = None
    loads: int = 0
    empty: bool = False
    files: dict[str, list[Path]] = field(default_factory=dict)

    @property
    def table(self) -> str:
        return f"{self.schema}.{self.case.table}"

    def reset(self, folder: Path) -> None:
        """Bring the table to its state before each load."""
        case = self.case
        if case.fresh:
            self.site.renew(self.schema)
            self.site.script(folder / case.schema, self.schema, self.names)
        elif case.keep:
            self.there = self.count()
        else:
            self.clear()
        for script in filter(None, (case.prepare, case.before)):
            self.empty = False
            self.site.script(folder / script, self.schema, self.names)
        if case.vacuum:
            self.site.execute(f"VACUUM ANALYZE {self.table}")
        self.site.checkpoint(always=case.checkpoint)

    def clear(self) -> None:
        """Empty the table, unless its rows have to stay or it is already empty."""
        if not (self.empty or self.case.fresh or self.case.keep):
            self.site.execute(f"TRUNCATE {self.table}")
            self.empty = True

    def count(self) -> Counter[str]:
        """Count the rows of each leaf that has some."""
        held = self.site.query(HELD.format(table=self.table))
        return Counter({leaf: int(count) for leaf, count in held})

    def commands(self, engine: Engine) -> list[list[str]]:
        """Return the programs of a load by this engine."""
        files = [self.rows.file] if self.rows else [Path()]
        if engine.form != "none" and not engine.oneself:
            files = self.files[engine.form]
        self.loads += 1
        self.empty = False
        names = {
            **self.names,
            "load_id": self.site.load_id() if "{load_id}" in engine.command else "",
            "rejects": self.rejects(engine),
        }
        return [
            engine.arguments({**names, "file": file, "literal": f"'{forms.quoted(file)}'"})
            for file in files
        ]

    def rejects(self, engine: Engine) -> Path:
        """Return the file of the rows that the engine rejects in this load."""
        return self.scratch / f"{engine.name}-{self.loads}.rejects"

    def shown(self, engine: Engine, command: list[str]) -> str:
        """Return a command to show, without the parts that are specific to this machine."""
        program = (engine.find() or [engine.program])[0]
        parts = [Path(part).name if part == program else part for part in command]
        known = {self.site.url: "$URL", self.names["url"]: "$URL", self.site.uri: "$URL?"}
        known |= {f"{self.scratch}/": "", f"{inputs.cache_folder()}/": ""}
        known[f"{self.names['folder']}/"] = ""
        known |= dict.fromkeys(self.site.loads[-1:], "$ID")
        known |= {self.site.source.url: "$SOURCE"} if self.site.source else {}
        for text, word in known.items():
            parts = [part.replace(text, word) for part in parts]
        return " ".join(part if part.startswith(VARIABLES) else quoted(part) for part in parts)

    def wrong(self, engine: Engine) -> str | None:
        """Return the mistake in the rows that an engine has put into the table, if any.

        An engine without a file creates its own rows, and so may fill other leaves.
        """
        held = self.count()
        if wrong := self.miscounted(held):
            return wrong
        if engine.form == "none" or self.added is None:
            return None
        if held != (right := self.there + self.added):
            odd = sorted(leaf for leaf in held | right if held[leaf] != right[leaf])
            return f"{len(odd)} leaves do not have the rows of COPY into the root, as {odd[0]}"
        return None

    def miscounted(self, held: Counter[str]) -> str | None:
        """Return the mistake in the number of all rows, if the right one is known."""
        if self.expected is None or held.total() == self.expected:
            return None
        return f"the table has {held.total():,} rows, not {self.expected:,}"

    def unmet(self, engine: Engine, figures: dict[str, float | str]) -> str | None:
        """Return the case's requirement for the figures of an engine, if it is not met."""
        check = self.case.checks.get(engine.name)
        if check is None:
            return None
        try:
            holds = evaluate(check, {**self.names, "rows": sent(self), **figures})
        except ValueError as error:
            return f"unknown: {error}"
        return None if holds else f"not so: {check}, but {figures}"


def directly(site: Site, _: Mapping[str, object]) -> str:
    """Return the server's own address, whatever the parameters."""
    return site.url


def prepare(
    experiment: Experiment,
    case: Case,
    scale: Scale,
    point: Point,
    engines: Iterable[Engine],
    site: Site,
    scratch: Path,
    given: Given = inputs.given,
    reach: Reach = directly,
) -> Stage:
    """Create the tables and files of a point."""
    schema = site.create()
    own = scratch / schema
    own.mkdir()
    parameters = case.parameters(scale, point)
    names = {**parameters, **case.variables, "schema": schema}
    names = {
        name: each.format(**names) if isinstance(each, str) else each
        for name, each in names.items()
    }
    site.script(experiment.folder / case.schema, schema, names)
    stage = Stage(case, point, names, case.expected(scale, point), schema, site, own)
    stage.names |= {
        "url": reach(site, parameters),
        "uri": site.uri,
        "source": site.source.url if site.source else "",
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
        fill(stage, wanted, int(stage.names["jobs"]), experiment.folder)
    if script := case.variables.get("script"):
        filled(stage, experiment.folder / str(script))
    return stage


def fill(stage: Stage, wanted: set[str], jobs: int, folder: Path) -> None:
    """Create the forms of the input; those by leaf follow the server's own COPY into the root.

    COPY also defines the right result, unless a script prepares the table: then `counts` says how
    many rows it has besides the input.
    """
    file, prepared = stage.rows.file, bool(stage.case.prepare)
    whole = "whole" in wanted
    stage.files["whole"] = forms.parts(file, jobs, stage.scratch) if whole else [file]
    if prepared and not wanted & {*BY_LEAF}:
        return
    leaves = warmed(stage)
    for form in LEAF_FILES:
        if form in wanted or (form == "leaves" and "ordered" in wanted):
            divide(stage, leaves, wanted, form, jobs)
    if prepared:
        return
    stage.added = leaves
    if stage.case.before:
        stage.reset(folder)
        stage.there = stage.count()
    if wrong := stage.miscounted(stage.there + stage.added):
        raise LabError(f"{stage.case.name} {stage.point}: {wrong}", "COPY into the root says so.")


def warmed(stage: Stage) -> Counter[str]:
    """Load the input with the server's own COPY into the root, and return the rows of each leaf."""
    rows, script = stage.rows, stage.scratch / "warm.sql"
    table = f"{stage.table} {forms.listed(rows.columns)}".strip()
    script.write_text(copy_command(table, rows.file, rows.copy) + "\n")
    stage.site.script(script, stage.schema, {})
    return stage.count()


def divide(stage: Stage, leaves: Iterable[str], wanted: set[str], form: str, jobs: int) -> None:
    """Write the rows of each leaf into a separate file, and create the wanted forms from them."""
    own, columns = stage.scratch, stage.rows.columns
    options, bring = LEAF_FILES[form]
    files = forms.by_leaf(
        columns,
        leaves,
        own / form,
        lambda dump: stage.site.script(dump, stage.schema, {}),
        stage.case.order,
        options,
    )
    if form == "leaves" and "ordered" in wanted:
        stage.files["ordered"] = forms.parts(forms.ordered(files, own / "ordered"), jobs, own)
    if form in wanted:
        stage.files[form] = forms.scripts(files, columns, jobs, own / form, options, bring)
    else:
        for file in files.values():
            file.unlink()


def sent(stage: Stage) -> int:
    """Return the number of rows that a load sends."""
    return stage.rows.count if stage.rows else stage.expected or 0


def filled(stage: Stage, script: Path) -> None:
    r"""Write the case's script with names put in; psql's variables do not reach `\copy`."""
    text = script.read_text()
    file = stage.rows.file if stage.rows else Path()
    for name, value in {**stage.names, "literal": f"'{forms.quoted(file)}'"}.items():
        text = text.replace(f"{{{name}}}", str(value))
    stage.names["filled"] = stage.scratch / script.name
    stage.names["filled"].write_text(text)


def quoted(part: str) -> str:
    """Return a part of a command quoted for a shell, in the more readable quotes."""
    return f'"{part}"' if "'" in part and not set(part) & set('"$`!') else shlex.quote(part)
