"""The extension module, built from crates/py."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, final

__version__: str

def run(args: Sequence[str]) -> int:
    """Run the command line and return its exit status; args[0] is the program's name."""

def leave(seconds: float) -> None:
    """Let no thread of this module into Python any more, and wait for those that are there."""

def look_in(folder: str | PathLike[str]) -> None:
    """Say where the embedded server's programs are, unless somebody names others."""

@final
class Input:
    """An input of one command."""

    @staticmethod
    def table(name: str, objects: Iterator[Any]) -> Input:
        """Take the batches of objects that are in memory; their buffers are shared."""
    @staticmethod
    def tables(name: str, objects: Iterator[Any], without: Sequence[int]) -> Input:
        """Take the batches of objects that are in memory, each with columns of its own.

        Leave out the rows of these numbers, in their order.
        """
    @staticmethod
    def stream(name: str, objects: Iterator[Any]) -> Input:
        """Take the batches of objects that come one after the other."""
    @staticmethod
    def reader(
        name: str, pieces: Iterator[bytes], lines: Literal["dicts", "rows", "ndjson"] | None = None
    ) -> Input:
        """Take bytes that come piece by piece: of any format, or lines of values."""
    @staticmethod
    def text(
        name: str, text: bytes, lines: Literal["dicts", "rows", "ndjson"] | None = None
    ) -> Input:
        """Take text that is in memory: of any format, or lines of values."""
    @staticmethod
    def objects(names: Sequence[str], provider: Callable[[], Mapping[str, Any]]) -> Input:
        """Take objects; the provider gives a credential for them."""

@final
class Command:
    """A command that has begun, in a thread of its own; its options are a JSON object."""

    def __new__(
        cls,
        name: str,
        options: str,
        input: Input | None = None,  # noqa: A002
        ended: Callable[[], object] | None = None,
        keywords: Sequence[str] | None = None,
        level: int | None = None,
    ) -> Command: ...
    def events(self) -> list[tuple[int, str]]:
        """Return the level of `logging` and the text of each event since the last call."""
    def wait(self, seconds: float) -> bool:
        """Wait for the end, but no longer than so many seconds; return whether it is over."""
    def stop(self) -> None:
        """Ask the command to end in order, as Ctrl-C does."""
    def progress(self) -> dict[str, Any]:
        """Return how far the load is, by the names of `pgsluice.Progress`."""
    def outcome(self) -> tuple[Any, str | None, BaseException | None]:
        """Return the outcome as `--json` has it, and of a failure its words and its cause.

        That of `leaf` is an `Array`.
        """

@final
class Array:
    """The leaves of rows, for any library that takes Arrow data."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

class Failure(Exception):  # noqa: N818
    """An error: the object of `--json`, its words, and what the data has raised, if it has.

    That of a `Writer` also has its position, how many rows of earlier calls the error is about, and
    the number of its row, if it has Arrow data.
    """

def table_name(name: str) -> str:
    """Return the question which table a name is, by its qualified name."""

@final
class Relay:
    """Rows that are gathered for a connection of the caller's own."""

    def __new__(
        cls,
        options: str,
        input: Input | None = None,  # noqa: A002
    ) -> Relay: ...
    def is_ready(self, seconds: float) -> bool:
        """Wait until the tree is read, but no longer than so many seconds; return whether it is."""
    def questions(self) -> list[str]:
        """Return what is asked in the caller's transaction."""
    def check(self, answer: str | None) -> None:
        """Refuse a table that is not the one whose rows are gathered, by the last answer."""
    def next(self, seconds: float) -> tuple[str, dict[str, Any] | None] | bytes | bool | None:
        """Return a COPY that begins, rows for it, or None at the end; False if nothing has come."""
    def so_far(self) -> tuple[str, int]:
        """Return the table's name and the rows that were handed over."""
    def stop(self) -> None:
        """End the reading."""

@final
class Writer:
    """A writer in a thread of its own; what is begun is done in this order."""

    def __new__(cls, keywords: Sequence[str], level: int | None = None) -> Writer: ...
    def events(self) -> list[tuple[int, str]]:
        """Return the level of `logging` and the text of each event since the last call."""
    def report_lag(self, messages: int) -> None:
        """Set the number of messages in the metrics."""
    def open(self, options: str, is_lazy: bool, is_shared: bool = False) -> RunningOrder:
        """Open it with options of a load, a JSON object."""
    def participants(self, names: Sequence[str]) -> RunningOrder:
        """Open these participants of a load that is shared, and no others."""
    def write(
        self,
        options: str,
        input: Input,  # noqa: A002
        position: str | None = None,
        rejected: int = 0,
        steps: Sequence[tuple[str, str | None, str]] | None = None,
        rejects: tuple[str, Sequence[str], str] | None = None,
    ) -> RunningOrder:
        """Write rows in one transaction; the first options say how all are read.

        Count the rows that were rejected, which are not among them. `steps` are the positions of
        participants before the rows and behind them. `rejects` are rows for another table: its
        name, their columns, and they as a JSON array of objects.
        """
    def check(self, options: str, input: Input) -> RunningOrder:  # noqa: A002
        """Try rows, and store none."""
    def flush(self) -> RunningOrder:
        """Make durable what was written."""
    def give_up(self) -> RunningOrder:
        """Forget rows that are in doubt."""
    def close(self, has_failed: bool = False) -> RunningOrder:
        """Close it. The metrics show whether the program has failed."""
    def stop(self) -> None:
        """Ask what it is doing to end in order."""

@final
class RunningOrder:
    """Something that a writer is doing."""

    def wait(
        self, seconds: float
    ) -> (
        tuple[str | None, str | None, int, list[tuple[str, int]], str | None, list[str | None]]
        | None
    ):
        """Wait for its end, but no longer than so many seconds; None if it is not over.

        Return the name and the position of the writer, the rows that were sent, what became of
        them, how they were sent, and the positions of participants that were opened.
        """
