"""The effect of the server's settings on loads of this table: lines, each with its figure."""

from dataclasses import dataclass

from pgsluice_lab.advise.facts import Facts, Server, count
from pgsluice_lab.advise.figures import Figures, Way
from pgsluice_lab.advise.words import amount, duration
from pgsluice_lab.report.numerals import digits

MIB, GIB = 1 << 20, 1 << 30
# After a checkpoint, the next change of a page logs all of it, so checkpoints should be rare.
SELDOM = 60
LARGEST = 64 * GIB
TIMEOUTS = (15 * 60, 30 * 60, 60 * 60)
# Other sessions need locks too.
SHARE = 0.5


@dataclass(frozen=True)
class Whole:
    """All rows to load, as far as known."""

    rows: int
    words: str


def lines(
    facts: Facts, figures: Figures, best: Way | None, whole: Whole | None, exchange: Way | None
) -> list[str]:
    """Return the lines on the settings, with the WAL and the rate of the best way."""
    found = []
    wal = figures.middle(best, "wal_bytes") if best else None
    if wal:
        seconds, rate = figures.middle(best), figures.middle(best, "rows_per_second")
        built = figures.middle(exchange, "wal_bytes") if exchange else None
        room = volume(facts.server, wal / seconds, wal / (seconds * rate), whole)
        found.append(f"{room} {timeout(facts.server, rate, whole)}")
        found.append(level(facts.server, wal, built))
    if figures.locks:
        found.append(locks(facts, figures))
    return [found[0], " ".join(found[1:])] if len(found) > 1 else found


def volume(server: Server, rate: float, of_a_row: float, whole: Whole | None) -> str:
    """Return the line on max_wal_size, from the WAL per second and per row."""
    # As in CalculateCheckpointSegments in xlog.c.
    part = 1 + server.checkpoint_completion_target
    step, now = server.max_wal_size / part, setting(server.max_wal_size)
    total = of_a_row * whole.rows if whole else None
    writes = f"this load writes {amount(rate, 2)} of WAL a second"
    if total:
        writes += f", about {amount(total, 2)} for {whole.words}"
    every = f"a checkpoint begins every {duration(step / rate)} of loading"
    if total and total < step:
        return f"max_wal_size = {now} is enough: {writes}."
    if step / rate >= SELDOM:
        return f"max_wal_size = {now} is enough: {writes}, so {every}."
    wanted = min(power(min(rate * SELDOM, total or rate * SELDOM) * part), LARGEST)
    if wanted <= server.max_wal_size:
        return f"max_wal_size = {now} is large as it is: {writes}, so {every}."
    return f"Set max_wal_size = {setting(wanted)}: {writes}, so with {now} {every}."


def timeout(server: Server, rate: float, whole: Whole | None) -> str:
    """Return the line on checkpoint_timeout, from the time that all rows take."""
    now = minutes(server.checkpoint_timeout)
    if not whole:
        rows = digits(rate * server.checkpoint_timeout, 2)
        return f"checkpoint_timeout = {now} is enough for loads of {rows} rows."
    takes = whole.rows / rate
    about = f"loading {whole.words} takes {duration(takes)}"
    longer = [each for each in TIMEOUTS if each > server.checkpoint_timeout]
    if takes <= server.checkpoint_timeout or not longer:
        return f"checkpoint_timeout = {now} is enough: {about}."
    wanted = next((each for each in longer if each >= takes), longer[-1])
    return f"Set checkpoint_timeout = {minutes(wanted)}, not {now}: {about}."


def level(server: Server, wal: float, built: float | None) -> str:
    """Return the line on wal_level, which matters only for tables that the load itself creates."""
    now = f"wal_level = {server.wal_level}"
    if server.wal_level == "minimal":
        saved = f": --exchange writes {amount(built)} of WAL, not {amount(wal)}" if built else ""
        return f"{now} is the least{saved}."
    users = [
        count(number, *words)
        for words, number in {
            ("replica", "replicas"): server.replicas,
            ("replication slot", "replication slots"): server.slots,
        }.items()
        if number
    ]
    if server.archive_mode != "off":
        users.append("archiving")
    if users:
        return f"{now} has to stay, for {' and '.join(users)}."
    if not built:
        return f"{now} can stay: less would help only tables that the load itself makes."
    return (
        f"{now} can stay; minimal would save --exchange some of its {amount(built)} of WAL,"
        " but allows no replicas and no base backups."
    )


def locks(facts: Facts, figures: Figures) -> str:
    """Return the line on max_locks_per_transaction, from the locks of one COPY."""
    server, leaves = facts.server, len(facts.leaves)
    text = f"one COPY through the root held {count(figures.locks, 'lock', 'locks')}"
    if figures.locked < leaves:
        text += f" with {figures.locked:,} of {leaves:,} leaves"
    needed = figures.locks * leaves / max(1, figures.locked)
    room = f"the server has room for {server.locks:,}"
    now = f"max_locks_per_transaction = {server.max_locks_per_transaction}"
    if needed <= SHARE * server.locks:
        return f"{now} is enough: {text}, {room}."
    sessions = server.locks / server.max_locks_per_transaction
    return (
        f"Set max_locks_per_transaction = {power(needed / SHARE / sessions)}, not"
        f" {server.max_locks_per_transaction}: {text}, {room}, which all sessions share."
    )


def power(least: float) -> int:
    """Return the smallest power of two that is not less."""
    return 1 << max(0, int(-(-least // 1)) - 1).bit_length()


def setting(size: int) -> str:
    """Return bytes in the form of the configuration."""
    return f"{size // GIB}GB" if size % GIB == 0 else f"{size // MIB}MB"


def minutes(seconds: int) -> str:
    """Return seconds in the form of the configuration."""
    return f"{seconds // 60}min" if seconds % 60 == 0 else f"{seconds}s"
