"""A run: prepares all points of an experiment, then loads in interleaved rounds.

Each load is recorded at once. Each round begins with another load, so that a slow minute of the
machine or the previous load does not affect the same load every time.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgsluice import __version__

from pgsluice_lab import disk, inputs, record, stage
from pgsluice_lab.engine import Engine, available
from pgsluice_lab.experiment import Case, Experiment, Point, Scale
from pgsluice_lab.machine import machine
from pgsluice_lab.measure import load
from pgsluice_lab.record import Head, Load, Machine, Postgresql, Program, Run
from pgsluice_lab.site import Site
from pgsluice_lab.stage import Given, Reach, Stage

# Reports progress: the name of a step that begins, and the number of steps.
Say = Callable[[str, int], None]


@dataclass(frozen=True)
class Todo:
    """A load to run."""

    case: Case
    point: Point
    engine: Engine
    round: int

    @property
    def key(self) -> record.Key:
        return record.key(self.case.name, self.point, self.engine.name, self.round)

    @property
    def title(self) -> str:
        values = ", ".join(
            f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}"
            for name, value in self.point.items()
        )
        return " · ".join(filter(None, (self.case.title, values, self.engine.title)))


def run(
    experiment: Experiment,
    scale: Scale,
    site: Site,
    records: Path,
    say: Say,
    given: Given = inputs.given,
    commit: str | None = None,
    reach: Reach = stage.directly,
) -> Run:
    """Run the loads of an experiment that are not recorded yet, and return its record."""
    engines, about = available(experiment.engines, experiment.shelf, scale.scalars)
    inputs.cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=inputs.cache_folder()) as folder:
        scratch = Path(folder)
        data = Path("/var/tmp") if site.embedded else None
        disk.check(*disk.needed(experiment, scale, engines), inputs.cache_folder(), data)
        journal, resumed = record.begin(records, head(experiment, scale, site, about, commit))
        done = journal.done()
        todo = [each for each in plan(experiment, scale, engines) if each.key not in done]
        places = {(each.case.name, str(each.point)): each for each in todo}
        steps = len(places) + len(todo)
        say("going on where it stopped" if resumed else "", steps)
        stages: dict[tuple[str, str], Stage] = {}
        try:
            for place, each in places.items():
                own = [engines[name] for name in each.case.engines if name in engines]
                say(f"making ready: {each.case.title}", steps)
                stages[place] = stage.prepare(
                    experiment, each.case, scale, each.point, own, site, scratch, given, reach
                )
                # The rows of all points at once would fill a disk that has room only for the
                # largest.
                stages[place].clear()
            for each in todo:
                say(f"round {each.round}: {each.title}", steps)
                ready = stages[each.case.name, str(each.point)]
                ready.reset(experiment.folder)
                about_it = {"case": each.case.name, "point": each.point, "engine": each.engine.name}
                figures = load(ready, each.engine, scale.limit)
                journal.add(Load(**about_it, round=each.round, date=record.now(), **figures))
                ready.clear()
            journal.end()
        finally:
            for [schema] in site.lab_schemas():
                site.drop(schema)
    return journal


def plan(experiment: Experiment, scale: Scale, engines: dict[str, Engine]) -> list[Todo]:
    """Return all loads in their order."""
    each_round = [
        (case, point, engines[name])
        for case in experiment.cases
        for point in case.points(scale)
        for name in case.engines
        if name in engines
    ]
    loads = []
    for number in range(1, scale.rounds + 1):
        turn = (number - 1) * len(each_round) // scale.rounds
        loads += [
            Todo(case, point, engine, number)
            for case, point, engine in each_round[turn:] + each_round[:turn]
            if number == 1 or engine.name not in case.once
        ]
    return loads


def head(
    experiment: Experiment,
    scale: Scale,
    site: Site,
    engines: dict[str, Program],
    commit: str | None,
) -> Head:
    """Return the record's description of a run."""
    return Head(
        experiment=experiment.name,
        scale=scale.name,
        date=record.now(),
        pgsluice=__version__,
        rounds=scale.rounds,
        parameters=scale.parameters,
        machine=Machine(**machine()),
        postgresql=Postgresql(**site.described()),
        engines=engines,
        version=record.VERSION,
        commit=commit,
    )
