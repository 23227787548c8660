"""What a part of this process takes: its time, its processor time, and its memory beside the rest.

The peak is read from /proc, so it is known only on Linux.
"""

import gc
import re
import time
from pathlib import Path

import pyarrow

PROCESS = Path("/proc/self")
# Written into `clear_refs`, this has the kernel take the peak anew.
FORGET_THE_PEAK = "5"


class Meter:
    """Begins when it is made; what the process has then, as the table, is not counted."""

    def __init__(self) -> None:
        gc.collect()
        # What the reading of the table has left is given back, and so is not there to be used.
        pyarrow.default_memory_pool().release_unused()
        self.held = self.forget()
        self.cpu_seconds = time.process_time()
        self.began = time.perf_counter()

    def stop(self) -> dict[str, float]:
        """Return the figures by the names that records have for them."""
        seconds = time.perf_counter() - self.began
        spent = {"seconds": seconds, "client_cpu_seconds": time.process_time() - self.cpu_seconds}
        if self.held is not None:
            spent["client_peak_mib"] = (kib("VmHWM") - self.held) / 1024
        return {name: round(value, 4) for name, value in spent.items()}

    def forget(self) -> int | None:
        """Begin the peak anew, and return the KiB that are held now; None where nobody knows."""
        if not (PROCESS / "clear_refs").exists():
            return None
        (PROCESS / "clear_refs").write_text(FORGET_THE_PEAK)
        return kib("VmRSS")


def kib(name: str) -> int:
    """Return a size of this process, as proc(5) names it."""
    return int(re.search(rf"{name}:\s+([0-9]+)", (PROCESS / "status").read_text())[1])
