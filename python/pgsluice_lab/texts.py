"""The text of rows that look like an application's: execution plans, and orders."""

import random
from datetime import UTC, date, datetime, timedelta
from functools import cache

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SUBSET = "7"
# In the published data's collation, a letter's partition also holds the upper-case ids, so twice as
# many as a digit's. These ids have no upper-case letters, so that every collation orders them
# alike.
OTHERS = "012345689" + 2 * LETTERS
# 8,804 of the published 537,056 rows are in the partition that is used as the subset.
SEED_ROWS, SEED_SUBSET = 537_056, 8_804
DIGITS = "0123456789" + LETTERS
SUFFIX = 5  # digits of an id after the first
PRIME = 24_917_849  # not a divisor of 36^5, so that suffixes repeat only after that many rows
NODES = (
    "Seq Scan on {table} {alias}",
    "Index Scan using {table}_pkey on {table} {alias}",
    "Index Only Scan using {table}_{column}_idx on {table} {alias}",
    "Bitmap Heap Scan on {table} {alias}",
    "Hash Join",
    "Nested Loop Left Join",
    "Merge Join",
    "Sort",
    "HashAggregate",
    "Subquery Scan on {alias}",
    "Materialize",
    "CTE Scan on {alias}",
)
DETAILS = (
    "Filter: (({alias}.{column})::text = 'value {number}'::text)",
    "Rows Removed by Filter: {number}",
    "Index Cond: ({alias}.{column} = other.{column})",
    "Hash Cond: ({alias}.{column} = other.id)",
    "Sort Key: {alias}.{column}, {alias}.id DESC",
    "Sort Method: quicksort  Memory: {number}kB",
    "Buffers: shared hit={number} read={small}",
    "Output: {alias}.id, {alias}.{column}, {alias}.created_at, {alias}.updated_at",
)
TABLES = ("orders", "customers", "events", "line_items", "accounts", "sessions", "documents")
COLUMNS = ("customer_id", "status", "kind", "owner_id", "created_on", "total", "parent_id")
PIECES = 4_096
DEEPEST = 12
FIRST_DAY = datetime(2008, 12, 1, tzinfo=UTC)
FIRST_ORDER = date(2024, 1, 1)
ORDER_DAYS = 731
STATES = ("open", "paid", "packed", "shipped", "delivered", "returned")
CITIES = ("Amsterdam", "Berlin", "Copenhagen", "Dublin", "Madrid", "Paris", "Rome", "Vienna")


def plan_ids(rows: int) -> list[str]:
    """Return ids in random order, distributed over the 36 partitions like the published ones."""
    subset = rows * SEED_SUBSET // SEED_ROWS
    ids = [
        (SUBSET if number < subset else OTHERS[(number - subset) % len(OTHERS)]) + suffix(number)
        for number in range(rows)
    ]
    random.Random(1).shuffle(ids)
    return ids


def suffix(number: int) -> str:
    """Return digits that no other number has, in no visible order."""
    rest, digits = number * PRIME % 36**SUFFIX, []
    for _ in range(SUFFIX):
        rest, digit = divmod(rest, 36)
        digits.append(DIGITS[digit])
    return "".join(digits)


def plan(key: str) -> str:
    """Return the row of the plan of this id, the same in any order of requests."""
    chance = random.Random(key)
    # Most plans are short, and a few are very long: half have less than 2 KB, one in a hundred has
    # 30.
    length = int(chance.lognormvariate(2.2, 1.15)) + 1
    first = chance.randrange(PIECES)
    lines = [pieces()[(first + 7 * each) % PIECES] for each in range(length)]
    entered = FIRST_DAY + timedelta(seconds=chance.randrange(300_000_000))
    public, anonymized = "tf"[chance.random() < 0.4], "tf"[chance.random() < 0.8]
    title = f"query {chance.randrange(1_000)}" if chance.random() < 0.2 else "\\N"
    added_by = f"user{chance.randrange(3_000)}" if chance.random() < 0.3 else "\\N"
    delete_key = f"{chance.getrandbits(96):024x}"
    return (
        f"{key}\t{''.join(lines)}Total runtime: {chance.random() * 5_000:.3f} ms\t"
        f"{entered:%Y-%m-%d %H:%M:%S}+00\t{public}\t{anonymized}\t{title}\t{delete_key}\tf\t"
        f"{added_by}\t\\N\n"
    )


@cache
def pieces() -> list[str]:
    """Return nodes of plans, each with its details, as lines of COPY text."""
    chance = random.Random(2)
    return [piece(chance) for _ in range(PIECES)]


def piece(chance: random.Random) -> str:
    names = {
        "table": chance.choice(TABLES),
        "column": chance.choice(COLUMNS),
        "alias": chance.choice(LETTERS),
        "number": chance.randrange(1_000_000),
        "small": chance.randrange(1_000),
    }
    indent = " " * 4 * chance.randrange(DEEPEST)
    start, cost, rows = (chance.randrange(1_000_000) for _ in range(3))
    node = (
        f"{indent}->  {chance.choice(NODES).format(**names)}"
        f"  (cost={start / 100:.2f}..{(start + cost) / 100:.2f} rows={rows} width={cost % 512})"
        f" (actual time={start / 1000:.3f}..{(start + cost) / 1000:.3f} rows={rows // 2} loops=1)"
    )
    details = chance.sample(DETAILS, chance.randrange(3))
    return "\\n".join([node, *(f"{indent}      {text.format(**names)}" for text in details), ""])


def order(number: int, of: int, chance: random.Random) -> str:
    """Return the row of one order; days are in no order, as if from many shops."""
    digits = f"{chance.getrandbits(128):032x}"
    event = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    # Different bits for each column, as far as a dependency would be visible.
    lot = chance.getrandbits(128)
    day, second, cents = lot % ORDER_DAYS, (lot >> 10) % 86_400, (lot >> 27) % 10_000_000
    wait, tax = (lot >> 51) % 14, (lot >> 55) % 21
    shipped = days()[day + wait] if wait else "\\N"
    return (
        f"{number}\t{(lot >> 60) % (of // 10 + 1)}\t{event}\t"
        f"{days()[day]} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00\t"
        f"{shipped}\t{STATES[wait % 6]}\t{cents // 100}.{cents % 100:02}\t0.{tax:02}\t"
        f"{(lot >> 92) % 49 + 1}\t{(lot >> 98) % 100_000_000 / 1_000_000:.6f}\t{'tf'[tax % 2]}\t"
        f"{CITIES[day % 8]}\n"
    )


@cache
def days() -> list[str]:
    """Return the days of the orders, and some more."""
    return [f"{FIRST_ORDER + timedelta(days=day)}" for day in range(ORDER_DAYS + 14)]
