"""Measure a part of this process: its time, its processor time, and its additional memory.

The peak is read from /proc, so it is known only on Linux.
"""

import gc
import re
import time
from pathlib import Path

import pyarrow

PROCESS = Path("/proc/self")
# Written into `clear_refs`, this makes the kernel reset the peak.
FORGET_THE_PEAK = "5"


class Meter:
    """A meter that starts at its creation.

    Memory that the process has then, such as the table, does not count.
    """

    def __init__(self) -> None:
        gc.collect()
        # Memory left from reading the table is returned, so that the load cannot reuse it.
        pyarrow.default_memory_pool().release_unused()
        self.held = self.forget()
        self.cpu_seconds = time.process_time()
        self.began = time.perf_counter()

    def stop(self) -> dict[str, float]:
        """Return the figures by their names in records."""
        seconds = time.perf_counter() - self.began
        spent = {"seconds": seconds, "client_cpu_seconds": time.process_time() - self.cpu_seconds}
        if self.held is not None:
            spent["client_peak_mib"] = (kib("VmHWM") - self.held) / 1024
        return {name: round(value, 4) for name, value in spent.items()}

    def forget(self) -> int | None:
        """Reset the peak, and return the KiB in use; None if they are unknown."""
        if not (PROCESS / "clear_refs").exists():
            return None
        (PROCESS / "clear_refs").write_text(FORGET_THE_PEAK)
        return kib("VmRSS")


def kib(name: str) -> int:
    """Return a size of this process by its name in proc(5)."""
    return int(re.search(rf"{name}:\s+([0-9]+)", (PROCESS / "status").read_text())[1])
