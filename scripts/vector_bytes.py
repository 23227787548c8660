"""Spellings of "char", name, bytea and the address types for dump_hash_vectors.py."""

import ipaddress
from collections.abc import Iterable, Iterator
from random import Random

from vector_line import Line


def chars() -> Iterator[Line]:
    """Yield all ASCII characters that a text may contain, and the empty string."""
    for code in range(1, 128):
        yield Line("char", "native", chr(code))
    yield Line("char", "native", "")
    for text in ("ab", "  ", "\\1", "abcd"):
        yield Line("char", "server", text)


def names(strings: Iterable[str]) -> Iterator[Line]:
    """Yield strings that fit, and strings that are truncated."""
    for text in strings:
        yield Line("name", "native" if len(text.encode()) < 64 else "server", text)


def byteas(rng: Random) -> Iterator[Line]:
    """Yield every length, in hexadecimal or escaped."""
    for length in [*range(100), *range(50)] * 7:
        value = rng.randbytes(length)
        digits = "".join(rng.choice((c, c.upper())) for c in value.hex())
        escaped = "".join(escape(rng, byte) for byte in value)
        yield Line("bytea", "native", "\\x" + digits)
        if not escaped.startswith("\\x"):
            yield Line("bytea", "native", escaped)
    for text in ("\\x0", "\\x0g", "\\x 00 ff", "\\", "\\00", "\\400", "\\n", "é", "\\x00\n"):
        yield Line("bytea", "server", text)


def escape(rng: Random, byte: int) -> str:
    """Return a byte in the escape format."""
    if byte == 0x5C:
        return "\\\\"
    return chr(byte) if 0 < byte < 128 and rng.random() < 0.8 else f"\\{byte:03o}"


def macaddrs(rng: Random) -> Iterator[Line]:
    """Yield six bytes in every grouping."""
    for n in range(1500):
        digits = rng.randbytes(6).hex()
        group, separator = ((2, ":"), (2, "-"), (4, "."), (4, "-"), (6, ":"), (6, "-"), (12, ""))[
            n % 7
        ]
        yield Line("macaddr", "native", grouped(rng, digits, group, separator))
    for text in ("", "8:0:2b:1:2:3", "08:00:2b:01:02", " 08002b010203", "08002b01020g"):
        yield Line("macaddr", "server", text)


def macaddr8s(rng: Random) -> Iterator[Line]:
    """Yield six or eight bytes."""
    for n in range(1500):
        group, separator = ((2, ":"), (2, "-"), (2, "."), (16, ""))[n % 4]
        yield Line("macaddr8", "native", grouped(rng, rng.randbytes(8).hex(), group, separator))
        yield Line("macaddr8", "native", grouped(rng, rng.randbytes(6).hex(), group, separator))
    for text in ("", "08:00:2b:01:02", "08002b:0102030405", "08:00:2b:01:02:0g", " 08002b010203"):
        yield Line("macaddr8", "server", text)


def grouped(rng: Random, digits: str, group: int, separator: str) -> str:
    """Return hexadecimal digits in groups, in either case."""
    groups = (digits[n : n + group] for n in range(0, len(digits), group))
    return rng.choice((str.lower, str.upper))(separator.join(groups))


def networks(rng: Random, name: str) -> Iterator[Line]:
    """Yield whole addresses, with the bits of the network or without."""
    for bits in [*range(33)] * 25:
        yield from network(rng, name, ipaddress.IPv4Address(rng.getrandbits(32)), bits)
    for bits in [*range(129)] * 5:
        address = rng.getrandbits(128)
        for _ in range(rng.randint(0, 6)):
            address &= ~(0xFFFF << 16 * rng.randrange(8))
        if address >> 32:
            yield from network(rng, name, ipaddress.IPv6Address(address), bits)
    for text in (
        "",
        "10",
        "10/8",
        "10.1.2.03",
        "10.0.0.256",
        "10.0.0.0/33",
        "::/129",
        "::ffff:1.2.3.4",
    ):
        yield Line(name, "server", text)


def network(
    rng: Random, name: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address, bits: int
) -> Iterator[Line]:
    """Yield the address alone, in its network, and the network itself."""
    interface = ipaddress.ip_interface((address, bits))
    whole = rng.choice((str, str.upper, lambda _: address.exploded))(str(address))
    yield Line(name, "native", whole)
    yield Line(name, "native", str(interface.network))
    inside = name == "cidr" and interface.network.network_address != address
    yield Line(name, "server" if inside else "native", f"{whole}/{bits}")
