"""The longest wait of a writer in each of many swaps."""

import time

from pgsluice_lab.site import Site
from pgsluice_lab.writers.latency import ended, longest, ran

from bench.move import programs
from bench.move.accounts import Accounts
from bench.move.options import Options
from bench.move.record import Swap
from bench.move.waits import longest_wait, writing

# Seconds before the move, in which all clients connect, and after the swap, in which all waiting
# transactions end.
LEAD = TAIL = 1
# Seconds between the two commands. Transactions of this time show how long one takes on this
# machine without any command.
REST = 5


def measure(site: Site, options: Options) -> list[Swap]:
    """Move and swap a new table each time."""
    swaps = []
    for number in range(options.swaps):
        swaps.append(one(site, options))
        print(f"swap {number + 1}: {swaps[-1].waited_ms:.0f} ms", flush=True)
    return swaps


def one(site: Site, options: Options) -> Swap:
    """Move a table until only the swap is left, and measure the swap."""
    accounts = Accounts(site, options.swap_rows, "keyed")
    accounts.lend("keyed")
    site.checkpoint(always=True)
    schema = accounts.work
    with writing(site, schema, options.swap_rows, options) as writers:
        time.sleep(LEAD)
        until_follow = programs.partition(site, schema, options, "--until", "follow")
        programs.run(site, schema, until_follow)
        time.sleep(REST)
        mark = writers.mark()
        began = time.time()
        timing = programs.run(site, schema, programs.swap(site, schema))
        done = time.time()
        time.sleep(TAIL)
        waited = longest_wait(writers.printed(mark))
        transactions = list(writers.stop())
    accounts.drop()
    rest = min(done - began, REST)
    return Swap(
        waited_ms=waited,
        locked_ms=round(1000 * programs.report(timing.output)["locked_seconds"], 3),
        longest_ms=longest(ran(transactions, began, done)),
        beside_ms=longest(ended(transactions, began - rest, began)),
    )
