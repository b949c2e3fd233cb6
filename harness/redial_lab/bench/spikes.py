"""Scenario ``day`` at its full rates: 200 messages a second for 24 hours, spikes of 3,000.

``python -m redial_lab.bench.spikes [SCALE]`` plays it in virtual time, the rates divided by SCALE (1),
and prints every hour. Twenty million messages take hours; the hours of a smaller scale do not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

from redial_lab.bench.endpoints import memory_mb
from redial_lab.scenarios.day import SCENARIO
from redial_lab.scenarios.story import told
from redial_lab.virtual import VirtualPort

LONG_TURN, MUCH_WORK = 200, 20_000
"""Turns of many statements, and much work in little virtual time: a spike must fit into its ten
minutes."""


def main(tell: Callable[[str], None] = print, scale: int = 1) -> dict[str, float]:
    """Play the day; figures by their stable names. RuntimeError when its verdict is not clean."""
    started = time.perf_counter()
    found = told(
        replace(SCENARIO, scale=scale),
        VirtualPort(quantum=LONG_TURN, moment=MUCH_WORK),
        say=lambda text: tell(f"{text}, {memory_mb():,.0f} MB"),
    )
    if not found.clean:
        raise RuntimeError("; ".join(found.problems))
    seconds = time.perf_counter() - started
    return {
        "spikes.messages": found.landed,
        "spikes.dialogs": found.dialogs,
        "spikes.seconds": seconds,
        "spikes.messages_per_s": found.landed / seconds,
        "spikes.memory_mb": memory_mb(),
    }


if __name__ == "__main__":
    for name, value in main(scale=int(sys.argv[1]) if sys.argv[1:] else 1).items():
        print(f"{name} {value:,.3f}")
