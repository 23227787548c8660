"""The latency of writers before, during and after an online move."""

import time

from pgsluice_lab.site import Site

from bench.move import programs, watch
from bench.move.accounts import Accounts
from bench.move.latency import Window, by_phase
from bench.move.options import Options
from bench.move.record import AFTER, BASELINE, Writing
from bench.move.waits import writing


def measure(site: Site, options: Options) -> Writing:
    """Run the writers, move their table, and return their latency in each phase."""
    print("writers: the table", flush=True)
    accounts = Accounts(site, options.rows, "keyed")
    accounts.lend("keyed")
    site.checkpoint(always=True)
    command = programs.partition(site, accounts.work, options)
    with writing(site, accounts.work, options.rows, options) as writers:
        print("writers: without a move", flush=True)
        time.sleep(options.warm)
        began = time.time()
        time.sleep(options.baseline)
        print("writers: with a move", flush=True)
        output, windows = watch.watched(site, accounts.work, command)
        time.sleep(options.after)
        ended = time.time()
        windows.insert(0, Window(BASELINE, began, windows[0].begins))
        windows.append(Window(AFTER, windows[-1].ends, ended))
        phases = by_phase(windows, writers.stop())
    report = programs.report(output)
    accounts.drop()
    locked = 1000 * report["locked_seconds"]
    return Writing(report["seconds"], report["rows_followed"], round(locked, 3), phases)
