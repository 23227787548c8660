"""The source server of some benchmarks: a second embedded one, with the settings of the first.

Programs connect to it over TCP. It runs on the same machine.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pgsluice_lab import site
from pgsluice_lab.experiment import Experiment, Scale
from pgsluice_lab.site import Site

# The script of an experiment that creates the rows on the source server.
SCRIPT = "source.sql"


@contextmanager
def opened(
    whole: Experiment, scale: Scale, place: Site, binaries: Path | None, more: Sequence[str]
) -> Iterator[None]:
    """Start and fill the source server of `place`, if the experiment has a script for it."""
    script = whole.folder / SCRIPT
    if not script.is_file():
        yield
        return
    with site.opened(None, binaries, more) as other:
        print("making ready: the other server", flush=True)
        other.script(script, "public", scale.scalars)
        other.checkpoint(always=True)
        place.read_from(other)
        yield
