"""The lines under each table of figures: the date, the number of runs, and the machine."""

from bench.correctness.record import Correctness
from bench.move.record import Move
from bench.record import Record
from bench.rounds import Rounds
from bench.stages import Stages
from bench.writing import ROUNDS, Writing

SETTINGS = ["shared_buffers", "max_wal_size", "fsync", "synchronous_commit"]


def date(record: Record | Stages | Writing | Move | Rounds | Correctness) -> str:
    """Return the date and the number of rounds of a measurement."""
    if isinstance(record, Correctness):
        return f"One run of each, {record.date[:10]}, PostgreSQL {record.postgresql.version}."
    if isinstance(record, Move | Rounds):
        return f"Medians of {record.parameters['rounds']} interleaved rounds, {record.date[:10]}."
    if isinstance(record, Writing):
        machine = record.machine
        return (
            f"Medians of {ROUNDS} interleaved rounds, {record.date[:10]}. Measured on"
            f" {machine.cores} cores ({machine.cpu}), PostgreSQL {record.postgresql.split()[0]}."
        )
    if isinstance(record, Stages):
        return f"Medians of criterion, {record.date[:10]}."
    rounds = " to ".join(map(str, sorted({record.rounds[0], record.rounds[-1]})))
    return f"Medians of {rounds} interleaved rounds, {record.head.date[:10]}."


def place(record: Record | Move | Rounds) -> str:
    """Return the machine and the server of a measurement."""
    about = record.head if isinstance(record, Record) else record
    machine, server = about.machine, about.postgresql
    return (
        f"Measured on {machine.cores} cores ({machine.cpu}) for client and server,"
        f" {machine.memory_gib} GiB, PostgreSQL {server.version.split()[0]} with"
        f" {settings(server.settings)}."
    )


def settings(values: dict[str, str]) -> str:
    """Return the settings that matter most to a reader."""
    return ", ".join(f"`{name}={values[name]}`" for name in SETTINGS if name in values)
