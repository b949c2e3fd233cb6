"""Many trials, in this process or in several; each is a seed's, so any of them can be run again."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count, islice
from multiprocessing import get_context

from redial_lab.torture.draw import drawn, settings
from redial_lab.torture.journal_verdict import Finding
from redial_lab.torture.plan import Plan
from redial_lab.torture.tally import Result, result
from redial_lab.torture.trial import run


@dataclass(frozen=True)
class Order:
    """What is wanted."""

    names: tuple[str, ...]
    """Of the variants, in turn."""
    seed: int = 1
    """The first."""
    trials: int = 0
    minutes: float = 0.0
    """trials, minutes: whichever comes first ends it; 0 for no such end."""
    messages: int = 1000
    """Of a trial."""
    mutant: str | None = None
    workers: int = 1
    trouble: float = 1.0

    def plans(self) -> Iterator[Plan]:
        """Plan after plan, each variant in its turn."""
        seeds = count(self.seed) if not self.trials else range(self.seed, self.seed + self.trials)
        for place, seed in enumerate(seeds):
            name = self.names[place % len(self.names)]
            yield drawn(seed, name, self.mutant, self.messages, self.trouble)


def chosen(words: str) -> tuple[str, ...]:
    """Names of variants: all, or those with one of these words (comma-separated) in them."""
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    exact = [name for name in wanted if name in settings()]
    if wanted and len(exact) == len(wanted):
        return tuple(exact)
    return tuple(name for name in settings() if not wanted or any(word in name for word in wanted))


def results(order: Order, said: Callable[[], float] = time.monotonic) -> Iterator[Result]:
    """Trial after trial, in the order of seeds. said: a clock, for ``minutes``."""
    end = said() + order.minutes * 60 if order.minutes else None
    plans = order.plans()
    if order.workers == 1:
        for plan in plans:
            yield tried(plan)
            if end is not None and said() >= end:
                return
        return
    with ProcessPoolExecutor(order.workers, mp_context=get_context("spawn")) as pool:
        under_way = [pool.submit(tried, plan) for plan in islice(plans, 2 * order.workers)]
        while under_way:
            yield under_way.pop(0).result()
            if end is None or said() < end:
                under_way += [pool.submit(tried, plan) for plan in islice(plans, 1)]


def tried(plan: Plan) -> Result:
    """One trial. One that breaks is a finding, and the others go on."""
    try:
        return result(run(plan))
    except Exception:
        broke = Finding("no verdict", traceback.format_exc(limit=-3))
        return Result(plan, [broke], Counter(), Counter(), Counter(), Counter(), 0.0)
