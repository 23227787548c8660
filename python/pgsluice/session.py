"""The writer's calls of the extension: each is waited for, and stopped cleanly if the wait ends."""

from collections.abc import Callable

from pgsluice._native import Failure, RunningOrder, Writer
from pgsluice.batches import Waiting
from pgsluice.errors import DataError, raised
from pgsluice.logs import level, log_events
from pgsluice.options import WriterOptions

# Seconds until a signal is noticed.
_PAUSE = 0.1

# The name and the position of the writer; the number of sent rows, their counts, and the method;
# the positions of opened participants.
Outcome = tuple[str | None, str | None, int, list[tuple[str, int]], str | None, list[str | None]]


class Session:
    """Waits for the writer's calls, and knows the position after them."""

    def __init__(self) -> None:
        self.writer = Writer(list(WriterOptions.__annotations__), level())
        self.position: str | None = None
        """The position of the last rows that are in, as JSON."""

    def wait(
        self,
        begin: Callable[[], RunningOrder],
        done: Callable[[], None] = lambda: None,
        failed: Callable[[int, int], None] | None = None,
        going: Waiting | None = None,
    ) -> Outcome:
        """Wait for the end of a call.

        An exception during the wait stops the call, and is then raised.

        `failed` is called with the number of rows that earlier calls sent and that are lost, and
        the number of rows in doubt. An error about one of the rows in `going` names it.
        """
        stopped: BaseException | None = None
        outcome: Outcome | None = None
        try:
            doing = begin()
            while outcome is None:
                try:
                    outcome = doing.wait(_PAUSE)
                    log_events(self.writer)
                except Failure:
                    raise
                except BaseException as reason:
                    stopped = stopped or reason
                if stopped is not None:
                    self.writer.stop()
        except Failure as failure:
            log_events(self.writer)
            error = raised(failure)
            _, _, cause, *of_writer = failure.args
            earlier = 0
            if of_writer:
                self.position, earlier, row = of_writer
                error.row = error.row if row is None else row
            if going is not None and isinstance(error, DataError):
                going.name_row(error)
            if failed is not None:
                failed(earlier, error.rows_in_doubt or 0)
            if stopped is None:
                raise error from cause
            stopped.add_note(str(error))
            raise stopped from None
        self.position = outcome[1]
        done()
        if stopped is not None:
            raise stopped
        return outcome
