"""One line of a vector file, before the server has answered; every family makes them."""

from typing import NamedTuple


class Line(NamedTuple):
    """One spelling: of which declared type, in which session zone, and who is to read it.

    The lane is "native", "server", or "valid": native if the server accepts it at all.
    """

    declared: str
    lane: str
    text: str
    modifier: int = -1
    zone: int | None = 0
