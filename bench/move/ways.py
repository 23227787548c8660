"""The compared ways to partition a table: pgsluice, and SQL statements run by psql."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """A way to partition a table.

    psql runs the SQL of `script`. Without it, pgsluice runs with `options`. `tree` is whether the
    partitioned table already exists, with the same key as the plain one.
    """

    title: str
    key: bool
    script: str | None = None
    tree: bool = False
    options: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return the title without Markdown."""
        return self.title.replace("`", "")


INSERT = "`INSERT INTO ... SELECT` into a tree that exists"
BY_HAND = "by hand: leaves, `INSERT INTO ... SELECT`, `ADD PRIMARY KEY`, `ANALYZE`"
OFFLINE = "`pgsluice partition --offline`"
ONLINE = "`pgsluice partition`"
UNVERIFIED = "`pgsluice partition --offline --no-verify`"
ONLINE_UNVERIFIED = "`pgsluice partition --no-verify`"

WAYS = {
    "insert": Way(INSERT, key=False, script="insert.sql", tree=True),
    "offline": Way(OFFLINE, key=False, options=("--offline",)),
    "offline-unverified": Way(UNVERIFIED, key=False, options=("--offline", "--no-verify")),
    "insert-key": Way(INSERT, key=True, script="insert.sql", tree=True),
    "by-hand-key": Way(BY_HAND, key=True, script="by_hand.sql"),
    "offline-key": Way(OFFLINE, key=True, options=("--offline",)),
    "offline-key-unverified": Way(UNVERIFIED, key=True, options=("--offline", "--no-verify")),
    "online-key": Way(ONLINE, key=True),
    "online-key-unverified": Way(ONLINE_UNVERIFIED, key=True, options=("--no-verify",)),
}
OURS = tuple(name for name, way in WAYS.items() if way.script is None)
