"""Messages as rows: the text of a value is a line of JSON, to which other columns are added.

The server reads the values, so a message is parsed only once. The writer finds values that are
not JSON, and reports their rows.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from pgsluice.batches import Batch

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Message(Protocol):
    """The methods of a confluent-kafka message that are used here."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> bytes | str | None: ...
    def value(self) -> bytes | str | None: ...
    def timestamp(self) -> tuple[int, int]: ...
    def headers(self) -> Any: ...


class Unfit(Exception):  # noqa: N818
    """A message that cannot become a row."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


def place(message: Message) -> str:
    """Return the position of a message, for people."""
    return f"offset {message.offset()} of {message.topic()}/{message.partition()}"


def reject_row(message: Message, sqlstate: str | None, reason: str) -> dict[str, Any]:
    """Return the row of the reject table for a message."""
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "key": _hex(message.key()),
        "value": _hex(message.value()),
        "sqlstate": sqlstate,
        "message": reason,
    }


def batch_of(lines: Sequence[bytes], messages: Sequence[Message]) -> Batch:
    """Return messages as a batch of a writer, which identifies bad rows by their messages."""
    text = b"".join(lines)
    return Batch(kind="ndjson", data=text, rows=len(lines), size=len(text), given=messages)


def liner(columns: Mapping[str, str]) -> Callable[[Message], bytes]:
    """Return a function that converts a message to a line, adding these columns to its value.

    The function raises `Unfit` for a message whose value is not an object.
    """
    parts = [(json.dumps(column) + ":", _VALUES[name]) for name, column in columns.items()]

    def line(message: Message) -> bytes:
        value = _bytes(message.value())
        if value is None:
            raise Unfit("22004", "the message has no value (a tombstone)")
        value = value.strip()
        if value[:1] != b"{" or value[-1:] != b"}":
            raise Unfit("22032", "the value is not a JSON object")
        if b"\n" in value or b"\r" in value:
            value = _on_one_line(value)
        if not parts:
            return value + b"\n"
        beside = ",".join(name + of(message) for name, of in parts).encode()
        rest = value[1:]
        comma = b"" if rest.lstrip()[:1] == b"}" else b","
        return b"{" + beside + comma + rest + b"\n"

    return line


def _on_one_line(value: bytes) -> bytes:
    """Remove line ends from JSON, where they occur only between tokens."""
    try:
        json.loads(value)
    except (ValueError, RecursionError) as error:
        raise Unfit("22032", f"the value is not valid JSON: {error}") from None
    return value.replace(b"\r", b" ").replace(b"\n", b" ")


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _hex(value: bytes | str | None) -> str | None:
    """Return bytes in PostgreSQL's hex format."""
    given = _bytes(value)
    return None if given is None else "\\x" + given.hex()


def _text(what: str, value: bytes | str | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise Unfit("22021", f"{what} is not valid UTF-8") from None
    if "\0" in text:
        raise Unfit("22021", f"{what} has a zero byte")
    return text


def _key(message: Message) -> str:
    return json.dumps(_text("the key", message.key()))


def _headers(message: Message) -> str:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return json.dumps({name: _text(f"header {name}", value) for name, value in pairs})


def _timestamp(message: Message) -> str:
    kind, milliseconds = message.timestamp()
    if kind == 0 or milliseconds < 0:
        return "null"
    return json.dumps((_EPOCH + timedelta(milliseconds=milliseconds)).isoformat())


_VALUES: dict[str, Callable[[Any], str]] = {
    "key": _key,
    "headers": _headers,
    "timestamp": _timestamp,
    "topic": lambda message: json.dumps(message.topic()),
    "partition": lambda message: str(message.partition()),
    "offset": lambda message: str(message.offset()),
}
