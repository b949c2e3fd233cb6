"""Memory and processor time of processes, as the kernel counts them."""

from __future__ import annotations

import os
from pathlib import Path


def peak_mb(pid: int | str = "self") -> float:
    """The most memory a process has had at one time, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def processor_seconds(besides: int) -> float:
    """Seconds on a processor, so far, of this process and all below it but one: a process id, whose
    own children count no more than it."""
    ticks, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    total, level = 0, [os.getpid()]
    while level:
        total += sum(ticks.get(pid, 0) for pid in level)
        level = [pid for pid, parent in parents.items() if parent in level and pid != besides]
    return total / os.sysconf("SC_CLK_TCK")
