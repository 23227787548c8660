"""`objects`: objects in buckets whose credentials a function gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import iscoroutinefunction
from typing import Any

Credential = Mapping[str, str | datetime | None]


@dataclass(frozen=True, repr=False)
class Objects:
    """Objects that are read as data, and the function that gives their credentials."""

    addresses: Sequence[str]
    """Addresses such as `s3://bucket/days/*.csv`."""
    credential_provider: Callable[[], Credential]
    """A function that returns a credential."""

    def __repr__(self) -> str:
        """Return the call without the function, and without queries, which may be signatures."""
        shown = [address.partition("?")[0] for address in self.addresses]
        return f"Objects({shown!r}, ...)"


def objects(
    addresses: str | Sequence[str], *, credential_provider: Callable[[], Credential]
) -> Objects:
    """Return objects of one service as data for `load`, `plan` and `verify`.

    `addresses` are those of the manual's page on objects: names, prefixes and patterns. Give them
    to `load` directly if the credentials are in the environment.

    `credential_provider` is called without arguments, in another thread, before the first request
    and again five minutes before the end of a credential. It returns a mapping with
    `access_key_id`, `secret_access_key` and, for a temporary one, `token` for S3; `token` for
    Google; `account_key`, `sas_token` or `token` for Azure; and `expires_at`, an aware datetime or
    None. An exception that it raises ends the load, as its `__cause__`.
    """
    names = [addresses] if isinstance(addresses, str) else list(addresses)
    for name in names:
        if not isinstance(name, str) or "://" not in name:
            raise TypeError(f"objects() takes addresses such as 's3://bucket/key', not {name!r}")
    if not callable(credential_provider) or iscoroutinefunction(credential_provider):
        raise TypeError("objects() takes credential_provider as a function that returns a mapping")
    return Objects(tuple(names), credential_provider)


def credential_of(given: Any) -> dict[str, Any]:
    """Call the function of the given objects, and check its result."""
    credential = given.credential_provider()
    if not isinstance(credential, Mapping):
        kind = type(credential).__name__
        raise TypeError(f"credential_provider must return a mapping, not an object of type {kind}")
    end = credential.get("expires_at")
    if end is not None and (not isinstance(end, datetime) or end.tzinfo is None):
        raise TypeError("credential_provider must return expires_at as an aware datetime")
    return dict(credential)
