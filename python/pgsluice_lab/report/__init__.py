"""The report: turns records of loads into one self-contained HTML page. It measures nothing.

`results` (records) -> `verdicts`, `recommendations`, `series` and `tables` (their evaluation) ->
`charts` and `page`. `images` writes the charts as separate files.
"""

from collections.abc import Collection
from pathlib import Path

from pgsluice_lab.experiment import experiments
from pgsluice_lab.failure import LabError
from pgsluice_lab.report import images, page, verdicts
from pgsluice_lab.report.results import Results, newest

__all__ = ["build", "images", "summary"]


def build(records: Path, folder: Path | None = None) -> str:
    """Return the page of the newest records in `records`; the page will be in `folder`."""
    return page.html(experiments(), find(records), folder)


def summary(records: Path, names: Collection[str] = ()) -> list[str]:
    """Return the sentences of the experiments of these names, or of all that were run."""
    runs = find(records)
    return [
        sentence
        for each in experiments()
        if each.name in runs and (not names or each.name in names)
        for sentence in verdicts.sentences(each, runs[each.name])
    ]


def find(records: Path) -> dict[str, list[Results]]:
    """Return the newest runs in this folder; an empty folder is an error."""
    if runs := newest(records):
        return runs
    raise LabError(
        f"there are no records in {records}", hint="Measure some by: pgsluice-lab run all"
    )
