"""The copies for the measurement, as psql scripts made from the facts alone.

Tables of a copy are named n0, n1, ... by the numbers of the nodes. Defaults and identities are not
copied: the rows have all columns, so no sequence of the user is touched.
"""

import re
from collections.abc import Collection

from pgsluice_lab.advise.facts import Facts, Node

ROOT = "n0"
# Bounds are read in the form in which they were deparsed. No table waits for the disk, because none
# is kept.
BEGINNING = [
    "SET synchronous_commit = off;",
    "SET client_min_messages = warning;",
    "SET datestyle = 'ISO, MDY';",
    "SET intervalstyle = 'postgres';",
]
WHOLE = (
    "INCLUDING ALL EXCLUDING DEFAULTS EXCLUDING IDENTITY EXCLUDING COMMENTS EXCLUDING STATISTICS"
)
SEQUENCE = "numbers"


def tree(facts: Facts, indexes: bool = True) -> str:
    """Return the script that copies all tables of the tree, empty."""
    like = WHOLE if indexes else f"{WHOLE} EXCLUDING INDEXES"
    made = [made_like(node, f"n{number}", like) for number, node in enumerate(facts.nodes)]
    # From the bottom up, so that keys that only leaves have are included, and each level is
    # complete.
    below = sorted(range(1, len(made)), key=lambda number: -facts.nodes[number].level)
    attached = [
        f"ALTER TABLE n{facts.nodes[number].parent} ATTACH PARTITION n{number}"
        f" {facts.nodes[number].bound};"
        for number in below
    ]
    return script([*made, *attached])


def plain(facts: Facts) -> str:
    """Return the script of one table that stands for the whole tree, with the indexes of a leaf.

    Keys of leaves become plain indexes: a value that is unique in each leaf may not be unique in
    all of them.
    """
    extra = [f"CREATE INDEX ON {ROOT} {each};" for each in facts.leaf_indexes]
    made = f"CREATE TABLE {ROOT} (LIKE {facts.root.name} {WHOLE});"
    return script([made, *extra])


def intake(facts: Facts, given: Collection[str]) -> str:
    """Return the script of the table for the input; `given` are the input's columns.

    The others get their defaults; numbers come from a sequence of the copy.
    """
    lines = [f"CREATE TABLE {ROOT} (LIKE {facts.root.name});", f"CREATE SEQUENCE {SEQUENCE};"]
    for column in facts.columns:
        change = f"ALTER TABLE {ROOT} ALTER COLUMN {column.name} SET DEFAULT"
        if column.generated:
            lines.append(f"ALTER TABLE {ROOT} DROP COLUMN {column.name};")
        elif column.name in given:
            continue
        elif column.sequence or column.identity:
            lines.append(f"{change} nextval('{SEQUENCE}');")
        elif column.default:
            lines.append(f"{change} {column.default};")
    return script(lines)


def made_like(node: Node, name: str, like: str) -> str:
    """Return the statement for one table like a node."""
    unlogged = "UNLOGGED " if node.unlogged and node.leaf else ""
    key = f" PARTITION BY {node.key}" if node.key else ""
    # Foreign tables become ordinary tables, which do not know their options.
    options = ", ".join(map(option, node.options if node.kind == "r" else ()))
    storage = f" WITH ({options})" if options else ""
    return f"CREATE {unlogged}TABLE {name} (LIKE {node.name} {like}){key}{storage};"


def option(text: str) -> str:
    """Return a storage parameter in SQL, from name=value."""
    name, value = text.split("=", 1)
    return f"{name} = {literal(value)}"


def literal(text: str) -> str:
    """Return a string as an SQL literal."""
    if "\\" not in text:
        return "'" + text.replace("'", "''") + "'"
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def script(statements: list[str]) -> str:
    return "\n".join([*BEGINNING, *statements]) + "\n"


def tables(facts: Facts) -> int:
    """Return the number of tables of all copies."""
    trees = 2 if facts.indexes[1] else 1
    return trees * len(facts.nodes) + facts.partitioned + 1


def original(text: str, facts: Facts) -> str:
    """Return a program's message about a copy with the names of the original."""

    def named(match: re.Match) -> str:
        number = int(match[1])
        if number >= len(facts.nodes):
            return match[0]
        name = facts.nodes[number].name
        return f"{match[0]} of the copy of {name}" if match[2] else name

    lines = [re.sub(r"^psql:.*?:\d+: ", "", line) for line in text.splitlines()]
    text = re.sub(r"COPY n(\d+),", r'COPY "n\1",', "\n".join(lines))
    return re.sub(r'"n(\d+)(_\w+)?"', named, text)
