"""The server's address for programs: its socket, or a port of our delaying proxy for each delay."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pgsluice_lab.experiment import Scale
from pgsluice_lab.failure import LabError
from pgsluice_lab.site import Site
from pgsluice_lab.stage import Reach
from psycopg import conninfo

from bench.place import ROOT

DELAY = "milliseconds"  # the parameter: milliseconds of the round trip
SOCKET = (
    "socket"  # the parameter: 1 if programs connect by a Unix-domain socket, without a password
)
DIRECT = "none"


def by_socket(site: Site) -> str:
    """Allow every user to connect by the socket of this private server, and return its address."""
    if not site.embedded:
        raise LabError("only a server that the benchmark has started lets everybody in")
    [[hba]], [[folder]] = (
        site.query(f"SHOW {name}") for name in ("hba_file", "unix_socket_directories")
    )
    file = Path(hba)
    file.write_text(f"local all all trust\n{file.read_text()}")
    site.query("SELECT pg_reload_conf()")
    # The server quotes list elements that have more than letters, digits and underscores.
    return conninfo.make_conninfo(site.url, host=folder.strip('"'))


@contextmanager
def reached(site: Site, scale: Scale) -> Iterator[Reach]:
    """Yield a function that returns the address for a point. The proxy runs during the context."""
    if scale.parameters.get(SOCKET):
        local = by_socket(site)
        yield lambda _site, _parameters: local
        return
    given = scale.values(DELAY) if DELAY in scale.parameters else []
    delays = [each for each in given if each != DIRECT]
    ports: dict[str, str] = {}

    def address(site: Site, parameters: Mapping[str, object]) -> str:
        port = ports.get(str(parameters.get(DELAY, DIRECT)))
        # A psql that was built without TLS does not ask for it, which saves a round trip.
        return conninfo.make_conninfo(site.url, port=port, sslmode="disable") if port else site.url

    if not delays:
        yield address
        return
    # The proxy is a separate process, so its memory and threads do not count as the bench's.
    about = site.connection.info
    command = [sys.executable, "-m", "bench.proxy", about.host, str(about.port), *delays]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as proxy:
        try:
            ports |= {each: proxy.stdout.readline().strip() for each in delays}
            yield address
        finally:
            proxy.stdin.close()
