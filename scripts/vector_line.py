"""One line of a vector file, before the server has answered; every family creates them."""

from typing import NamedTuple


class Line(NamedTuple):
    """A spelling with its declared type, the session's zone, and the lane.

    The lane is "native", "server", or "valid": native if the server accepts the spelling.
    """

    declared: str
    lane: str
    text: str
    modifier: int = -1
    zone: int | None = 0
