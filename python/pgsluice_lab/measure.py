"""One load by one engine, and its figures."""

import subprocess
from pathlib import Path

from pgsluice_lab.engine import Engine
from pgsluice_lab.stage import Stage, sent
from pgsluice_lab.timing import OverdueError, Timing, timed

# The sizes in psql's \dt+ and \di+, for all tables of the tree.
SIZES = """WITH RECURSIVE tree AS (
    SELECT %s::regclass::oid AS id
    UNION ALL SELECT inhrelid FROM pg_inherits JOIN tree ON inhparent = id)
    SELECT sum(pg_table_size(id)), sum(pg_indexes_size(id)) FROM tree"""

DIGITS = {"seconds": 4, "client_cpu_seconds": 3, "client_peak_mib": 1}


def load(stage: Stage, engine: Engine, limit: float) -> dict:
    """Load, and return the fields of its record: figures, or the failure."""
    commands = stage.commands(engine)
    command = stage.shown(engine, commands[0])
    if len(commands) > 1:
        command += f"  # {len(commands)} such programs at once, a part of the input each"
    about = {"command": command}
    meter = stage.site.meter()
    env = stage.site.environment(stage.schema)
    try:
        timing = timed(*commands, env=env, limit=limit, statuses=engine.statuses, quiet=True)
    except OverdueError as overdue:
        stage.site.end_loads()
        return {"status": "stopped", "reason": str(overdue), **about}
    except subprocess.CalledProcessError as failure:
        output = (failure.stderr or "").strip().splitlines()
        program = Path(failure.cmd[0]).name
        # The last line of a Python traceback describes the error.
        line = output[-1 if output[0].startswith("Traceback") else 0] if output else ""
        reason = f"{program} ended with status {failure.returncode}: {line}"
        return {"status": "failed", "reason": reason.removesuffix(": "), **about}
    cost = meter.stop()
    if wrong := stage.wrong(engine):
        return {"status": "wrong", "reason": wrong, **about}
    reported = engine.read_figures(timing.output)
    if engine.rejects:
        reported["reject_lines"] = lines(stage.rejects(engine))
    if unmet := stage.unmet(engine, reported):
        return {"status": "wrong", "reason": unmet, **about}
    [[table, indexes]] = stage.site.query(SIZES, stage.table)
    rows = sent(stage)
    measured = spent(engine, timing, reported)
    seconds = measured["seconds"]
    figures = {
        **measured,
        "server_cpu_seconds": cost.cpu_seconds and round(cost.cpu_seconds, 3),
        "wal_bytes": cost.wal_bytes,
        "table_bytes": int(table),
        "index_bytes": int(indexes),
        "input_bytes": stage.rows.bytes if stage.rows else None,
        "rows": rows,
        "rows_per_second": round(rows / seconds, 1) if rows and seconds else None,
    }
    return {"status": "done", **figures, "figures": reported, **about}


def spent(
    engine: Engine, timing: Timing, reported: dict[str, float | str]
) -> dict[str, float | None]:
    """Take a program's cost from its own output, or else from the measurement outside.

    A program that measures itself leaves out its start, and the memory that it held before the
    load.
    """
    outside: dict[str, float] = {
        "seconds": timing.seconds,
        "client_cpu_seconds": timing.cpu_seconds,
        "client_peak_mib": timing.peak_mib,
    }
    found = {
        name: reported.pop(name, None if engine.untimed else outside[name]) for name in outside
    }
    return {
        name: None if value is None else round(float(value), DIGITS[name])
        for name, value in found.items()
    }


def lines(file: Path) -> int:
    """Count the lines of a file; 0 if it does not exist."""
    if not file.exists():
        return 0
    with file.open("rb") as rows:
        return sum(1 for _ in rows)
