"""Memory of processes, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


def peak_mb(pid: int | str = "self") -> float:
    """The most memory a process has had at one time, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
