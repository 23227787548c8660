"""Another server, whose table some benchmarks load: a second embedded one, with the same settings.

It is reached over TCP, as the first one is, and shares its machine.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pgsluice_lab import site
from pgsluice_lab.experiment import Experiment, Scale
from pgsluice_lab.site import Site

# The script in the folder of an experiment that makes the rows on the other server.
SCRIPT = "source.sql"


@contextmanager
def opened(
    whole: Experiment, scale: Scale, place: Site, binaries: Path | None, more: Sequence[str]
) -> Iterator[None]:
    """Start and fill a server for `place` to read from, if the experiment has rows for one."""
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
