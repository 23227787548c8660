"""The facts of a table before the measurement: its tree, columns, sizes, and settings."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Node:
    """A table of the tree; `parent` is its number in the list of nodes, None for the root."""

    name: str  # schema-qualified and quoted, like all names here
    parent: int | None = None
    level: int = 0
    kind: str = "r"  # as in pg_class.relkind
    key: str = ""
    bound: str = ""
    unlogged: bool = False
    options: tuple[str, ...] = ()
    indexes: int = 0
    rows: int | None = None
    bytes: int = 0
    index_bytes: int = 0
    empty: bool = True
    readable: bool = True

    @property
    def leaf(self) -> bool:
        return self.kind != "p"


@dataclass(frozen=True)
class Column:
    name: str
    generated: bool = False
    identity: bool = False
    default: str = ""
    sequence: bool = False  # the default takes a number from a sequence
    code: bool = False  # the default calls a function in SQL or a procedural language


@dataclass(frozen=True)
class Server:
    """Settings, sizes in bytes and times in seconds."""

    version: str = "18"
    max_wal_size: int = 1 << 30
    checkpoint_timeout: int = 300
    checkpoint_completion_target: float = 0.9
    wal_level: str = "replica"
    archive_mode: str = "off"
    max_locks_per_transaction: int = 64
    max_connections: int = 100
    max_prepared_transactions: int = 0
    replicas: int = 0
    slots: int = 0

    @property
    def locks(self) -> int:
        """Return the number of locks that the server has room for, in all sessions together."""
        return self.max_locks_per_transaction * (
            self.max_connections + self.max_prepared_transactions
        )


@dataclass(frozen=True)
class Facts:
    """The facts of a table. `table` is its name as the user wrote it.

    The root is the first node.
    """

    table: str
    nodes: list[Node]
    columns: list[Column] = field(default_factory=list)
    # Indexes that the first leaf has and the root does not, each from its USING on.
    leaf_indexes: list[str] = field(default_factory=list)
    triggers: int = 0
    foreign_keys: int = 0
    rules: int = 0
    server: Server = field(default_factory=Server)

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def partitioned(self) -> bool:
        return not self.root.leaf

    @property
    def leaves(self) -> list[Node]:
        return [node for node in self.nodes if node.leaf]

    @property
    def rows(self) -> int | None:
        """Return the approximate number of rows of the table; None if a part was never analyzed."""
        known = [node.rows for node in self.leaves]
        return None if None in known else sum(known)

    @property
    def bytes(self) -> int:
        return sum(node.bytes for node in self.leaves)

    @property
    def index_bytes(self) -> int:
        return sum(node.index_bytes for node in self.leaves)

    @property
    def empty(self) -> int:
        return sum(node.empty for node in self.leaves)

    @property
    def indexes(self) -> tuple[int, int]:
        """Return the smallest and the largest number of indexes of a leaf."""
        counts = [node.indexes for node in self.leaves] or [0]
        return min(counts), max(counts)

    @property
    def loaded(self) -> list[str]:
        """Return the columns that a load fills."""
        return [column.name for column in self.columns if not column.generated]

    @property
    def keys(self) -> list[str]:
        """Return the partition keys from the root down, each once per level."""
        keys: dict[tuple[int, str], None] = {}
        for node in self.nodes:
            if node.key:
                keys[node.level, node.key] = None
        return [key for _, key in keys]

    @property
    def shape(self) -> str:
        """Describe how the table is partitioned."""
        if not self.partitioned:
            return "not partitioned"
        return f"{count(len(self.leaves), 'leaf', 'leaves')} by {', then '.join(self.keys)}"

    @property
    def not_copied(self) -> list[str]:
        """Return the objects that slow down a load and that copies lack."""
        foreign = sum(node.kind == "f" for node in self.nodes)
        found = {
            ("trigger", "triggers"): self.triggers,
            ("foreign key", "foreign keys"): self.foreign_keys,
            ("rule", "rules"): self.rules,
            ("foreign table", "foreign tables"): foreign,
        }
        return [count(number, *words) for words, number in found.items() if number]


def count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
