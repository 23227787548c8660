"""The extension module, built from crates/py."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

__version__: str

def run(args: Sequence[str]) -> int:
    """Run the command line and return its exit status; args[0] is the program's name."""

@final
class Input:
    """An input of one command."""

    @staticmethod
    def table(name: str, objects: Iterator[Any]) -> Input:
        """Take the batches of objects that are in memory; their buffers are shared."""
    @staticmethod
    def stream(name: str, objects: Iterator[Any]) -> Input:
        """Take the batches of objects that come one after the other."""
    @staticmethod
    def reader(name: str, pieces: Iterator[bytes]) -> Input:
        """Take bytes that come piece by piece."""

@final
class Command:
    """A command that has begun, in a thread of its own."""

    def __new__(
        cls,
        args: Sequence[str],
        input: Input | None = None,  # noqa: A002
        ended: Callable[[], object] | None = None,
    ) -> Command: ...
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
