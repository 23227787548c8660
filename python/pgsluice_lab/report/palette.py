"""The colours of the report, for light and dark: of the page, and of its charts.

An engine has its own colour. Charts use the light colours; on a dark page, each is replaced by its
twin. So all light colours must differ.
"""

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f6f8fa",
    "line": "#d1d9e0",
    "text": "#1f2328",
    "quiet": "#59636e",
    "link": "#0550ae",
    "good": "#1a7f37",
    "bad": "#b35900",
    "pgsluice": "#0969da",
    "pgsluice-text": "#6aa9f0",
    "pgsluice-exchange": "#063f82",
    "psql": "#d1570b",
    "psql-ordered": "#8f3a02",
    "psql-leaves": "#ee9a5c",
    "psql-staged-leaves": "#f2b284",
    "pgbench": "#0e8a6d",
    "psycopg-insert": "#8250df",
    "psycopg-executemany": "#b592f2",
    "psycopg-values": "#c04bc4",
    "psycopg-copy": "#45189b",
    "timescaledb-parallel-copy": "#857000",
    "pgloader": "#737d88",
    "pg_bulkload": "#cf222e",
}
DARK = {
    "paper": "#0d1117",
    "panel": "#161b22",
    "line": "#343b44",
    "text": "#e6edf3",
    "quiet": "#9198a1",
    "link": "#79b8ff",
    "good": "#3fb950",
    "bad": "#e3893d",
    "pgsluice": "#4c9bff",
    "pgsluice-text": "#a9d1ff",
    "pgsluice-exchange": "#2c72d4",
    "psql": "#f0883e",
    "psql-ordered": "#bb6427",
    "psql-leaves": "#ffcda6",
    "psql-staged-leaves": "#ffe0c8",
    "pgbench": "#34c4a0",
    "psycopg-insert": "#b58aff",
    "psycopg-executemany": "#dac6ff",
    "psycopg-values": "#ef8df2",
    "psycopg-copy": "#8a5cf0",
    "timescaledb-parallel-copy": "#d4b830",
    "pgloader": "#8b96a2",
    "pg_bulkload": "#ff7b72",
}


def engine_colour(name: str) -> str:
    """Return the colour of an engine, the same in all charts: a shade of its program's colour.

    An engine without a colour has that of the engine whose name begins its own.
    """
    while name and name not in LIGHT:
        name = name.rpartition("-")[0]
    return LIGHT[name or "quiet"]


def variables(colours: dict[str, str]) -> str:
    """Return the colours as declarations of a style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def twins() -> dict[str, str]:
    """Return the dark colour for each light one."""
    return {LIGHT[name]: DARK[name] for name in LIGHT}
