"""The server's address for programs: its socket, or a port of our delaying proxy for each delay."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pgsluice_lab.experiment import Scale
from pgsluice_lab.failure import LabError
from pgsluice_lab.site import Site
from pgsluice_lab.stage import Reach
from psycopg import conninfo

from bench import proxy

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
def address_finder(site: Site, scale: Scale) -> Iterator[Reach]:
    """Yield a function that returns the address for a point. The proxy runs during the context."""
    if scale.parameters.get(SOCKET):
        local = by_socket(site)
        yield lambda _site, _parameters: local
        return
    given = scale.values(DELAY) if DELAY in scale.parameters else []
    delays = [each for each in given if each != DIRECT]
    if not delays:
        yield lambda site, _parameters: site.url
        return
    about = site.connection.info
    with proxy.running(about.host, about.port, delays) as running:

        def address(site: Site, parameters: Mapping[str, object]) -> str:
            port = running.ports.get(str(parameters.get(DELAY, DIRECT)))
            # A psql that was built without TLS does not ask for it, which saves a round trip.
            direct = site.url
            return conninfo.make_conninfo(direct, port=port, sslmode="disable") if port else direct

        yield address
