#!/usr/bin/env python3
r"""Asks a PostgreSQL server what it makes of the key types' spellings, and writes its answers down.

    scripts/dump_hash_vectors.py [CONNINFO] [DIRECTORY]

Each tests/vectors/TYPE.tsv is COPY text with a header: the declared type, the session's fixed time
zone in seconds east of UTC (\N: one with daylight saving), the lane ("native": pgsluice must read
the spelling itself; "server": it must leave it to the server), the spelling, the value in binary
(\N: refused) and its extended hash with seed 0 and with the partition seed. The lines of one zone
are in the server's order of the values, strings under C collation; for jsonb the database must have
that one.

The server's input, send and hash functions are called by themselves, as COPY and tuple routing do.
The files do not depend on the server's version: dump with 15 and with 18 and compare.
"""

import random
import subprocess
import sys
from pathlib import Path

import vector_containers
from vector_values import Line, vectors

PARTITION_SEED = 0x7A5B22367996DCFD
HEADER = ("declared", "zone", "lane", "text", "binary", "hash_0", "hash_partition")
STRINGS = ("name", "text", "varchar", "bpchar", "_text", "_bpchar")

INPUT = {
    "bool": "boolin(textout(spelling))",
    "int2": "int2in(textout(spelling))",
    "int4": "int4in(textout(spelling))",
    "int8": "int8in(textout(spelling))",
    "numeric": "numeric_in(textout(spelling), 0, modifier)",
    "float4": "float4in(textout(spelling))",
    "float8": "float8in(textout(spelling))",
    "oid": "oidin(textout(spelling))",
    "pg_lsn": "pg_lsn_in(textout(spelling))",
    "char": "charin(textout(spelling))",
    "name": "namein(textout(spelling))",
    "bytea": "byteain(textout(spelling))",
    "text": "textin(textout(spelling))",
    "varchar": "varcharin(textout(spelling), 0, modifier)",
    "bpchar": "bpcharin(textout(spelling), 0, modifier)",
    "uuid": "uuid_in(textout(spelling))",
    "macaddr": "macaddr_in(textout(spelling))",
    "macaddr8": "macaddr8_in(textout(spelling))",
    "inet": "inet_in(textout(spelling))",
    "cidr": "cidr_in(textout(spelling))",
    "date": "date_in(textout(spelling))",
    "time": "time_in(textout(spelling), 0, modifier)",
    "timetz": "timetz_in(textout(spelling), 0, modifier)",
    "interval": "interval_in(textout(spelling), 0, modifier)",
    "timestamp": "timestamp_in(textout(spelling), 0, modifier)",
    "timestamptz": "timestamptz_in(textout(spelling), 0, modifier)",
}

# A function of polymorphic types cannot be called alone; a cast from text calls it too.
CONTAINERS = (*vector_containers.RANGES, "jsonb")
ARRAYS = [f"_{name}" for name in (*vector_containers.ARRAYS, "int4range", "jsonb")]
INPUT |= {name: f'spelling::"{name}"' for name in (*CONTAINERS, *ARRAYS)}

SETUP = """
SET client_encoding = 'UTF8';
SET DateStyle = 'ISO, MDY';
CREATE FUNCTION pg_temp.read(spelling text, modifier int) RETURNS "{name}" LANGUAGE plpgsql AS $$
BEGIN RETURN {input}; EXCEPTION WHEN data_exception THEN RETURN NULL; END $$;
SELECT typsend AS send FROM pg_type WHERE oid = '"{name}"'::regtype \\gset
CREATE TEMP TABLE line (declared text, modifier int, zone int, lane text, spelling text);
COPY line FROM STDIN;
"""

# For a line in the lane "valid", the server decides whether it is valid. A type's extended hash
# function is not always callable by name (for boolean, it takes a "char" before version 18). An
# array's hash function calls it, and adds 31 for its single element.
ELEMENT_HASH = "hash_array_extended(ARRAY[v], {seed}) - 31"
ARRAY_HASH = "hash_array_extended(v, {seed})"
ANSWER = """
SET TIME ZONE {session_zone};
COPY (SELECT declared, zone,
             CASE WHEN lane <> 'valid' THEN lane WHEN v IS NULL THEN 'server' ELSE 'native' END,
             spelling, encode(:send(v), 'hex'),
             CASE WHEN v IS NOT NULL THEN {hash_0} END,
             CASE WHEN v IS NOT NULL THEN {hash_partition} END
      FROM line, pg_temp.read(spelling, modifier) AS v
      WHERE zone IS NOT DISTINCT FROM {zone}
      ORDER BY v {collation}, declared, spelling COLLATE "C") TO STDOUT;
"""


def main() -> None:
    """Write one file for each type."""
    conninfo = sys.argv[1] if len(sys.argv) > 1 else ""
    default = Path(__file__).resolve().parent.parent / "tests" / "vectors"
    directory = Path(sys.argv[2]) if len(sys.argv) > 2 else default
    directory.mkdir(parents=True, exist_ok=True)
    for name, lines in vectors(random.Random(20)).items():
        answer = psql(conninfo, script(name, list(dict.fromkeys(lines))))
        (directory / f"{name}.tsv").write_bytes(("\t".join(HEADER) + "\n").encode() + answer)
        count = answer.count(b"\n")
        print(f"{name}: {count} lines")


def script(name: str, lines: list[Line]) -> str:
    """Return the psql script that answers all lines of one type."""
    data = "".join(
        f"{line.declared}\t{line.modifier}\t{null(line.zone)}\t{line.lane}\t{escape(line.text)}\n"
        for line in lines
    )
    answers = "".join(answer(name, zone) for zone in dict.fromkeys(line.zone for line in lines))
    return SETUP.format(name=name, input=INPUT[name]) + data + "\\.\n" + answers


def answer(name: str, zone: int | None) -> str:
    """Return the query for the lines of one session time zone."""
    hash_extended = ARRAY_HASH if name in ARRAYS else ELEMENT_HASH
    return ANSWER.format(
        session_zone=session_zone(zone),
        hash_0=hash_extended.format(seed=0),
        hash_partition=hash_extended.format(seed=PARTITION_SEED),
        zone="NULL" if zone is None else zone,
        collation='COLLATE "C"' if name in STRINGS else "",
    )


def session_zone(zone: int | None) -> str:
    """Return a fixed zone in POSIX's notation (west is positive), or one with daylight saving."""
    if zone is None:
        return "'Europe/Berlin'"
    east = "-" if zone >= 0 else "+"
    return f"'<FIX>{east}{abs(zone) // 3600:02}:{abs(zone) // 60 % 60:02}'"


def null(value: int | None) -> str:
    """Return a number in COPY text."""
    return "\\N" if value is None else str(value)


def escape(text: str) -> str:
    """Return a string as COPY text has it."""
    for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, escaped)
    return text


def psql(conninfo: str, commands: str) -> bytes:
    """Return the output of psql for a script, which stops at the first error."""
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-f", "-"]
    done = subprocess.run(command, input=commands.encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
