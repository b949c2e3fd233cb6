"""Sent and landed over time, and how long a message takes: figures in bins, and their pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from redial.charts import Series, picture, step_of
from redial.config import Config
from redial.operate.report.asking import LOOKED, Facts
from redial.operate.report.model import Section, Table, how_long, many, utc

BINS = 24
"""Most bins of a period: a day has hours."""
CLOCK = (
    "Both times are of the server's clock (SYSUTCDATETIME), the same for both databases of one instance. A "
    "message is sent when usp_Send runs: how long its caller's transaction then stays open is in the latency."
)


class Look(Protocol):
    """One moment of a run that somebody has watched (``redial_lab.scenarios.client_load.Sample``)."""

    @property
    def second(self) -> float:
        """When, from the run's start."""

    @property
    def sent(self) -> int:
        """Messages sent so far."""

    @property
    def landed(self) -> int:
        """Messages landed so far."""

    @property
    def states(self) -> Mapping[str, int]:
        """Endpoints by side and state."""


@dataclass
class Bin:
    """What happened between two moments, in milliseconds since 1970."""

    begin: int
    sent: int = 0
    landed: int = 0
    latencies: list[int] = field(default_factory=list)
    """Milliseconds, of what landed."""


@dataclass
class Flow:
    """A period in bins of one width."""

    width: int
    """Milliseconds."""
    bins: list[Bin]
    before: int = 0
    """Sent before the period, and landed in it or still waiting."""
    times: bool = True
    """Whether it is known when messages were sent."""

    def at(self, moment: int) -> Bin:
        """The bin of a moment; the first or the last where it lies outside."""
        place = (moment - self.bins[0].begin) // self.width
        return self.bins[min(max(place, 0), len(self.bins) - 1)]


def empty(since: int, now: int) -> Flow:
    """A period without anything in it, which begins where a bin does."""
    width = step_of((now - since) / 1000, BINS) * 1000
    first = since // width * width
    count = max(1, -(-(now - first) // width))
    return Flow(width, [Bin(first + n * width) for n in range(count)])


def throughput(config: Config, facts: Facts, watched: Sequence[Look] = ()) -> Section:
    """The section. watched: what somebody saw who counted, for a configuration without times of sending."""
    title = "Throughput and latency"
    if facts.hooked:
        return Section(
            "flow", title, ("Not known: a hook takes the messages, and none is in Landing",)
        )
    if facts.landed is None:
        return Section("flow", title, ("Not known: Landing could not be looked at, see there",))
    flow = empty(facts.since, facts.now)
    notes: list[str] = []
    _landed(flow, facts, notes)
    if not config.enveloped and watched:
        flow = _of_watched(watched, facts.since)
        notes.append(
            "Sent is what callers had said so far, or what had landed by then if that is more."
        )
    elif not config.enveloped:
        flow.times = False
    return _told(title, facts, flow, notes)


def _landed(flow: Flow, facts: Facts, notes: list[str]) -> None:
    """Fill the bins from Landing and the copies that wait."""
    begin = facts.since
    untimed = early = 0
    for row in facts.landed or ():
        if not row.user or row.landed < begin:
            continue
        one = flow.at(row.landed)
        one.landed += 1
        untimed += row.sent is None
        early += row.sent is not None and row.sent > row.landed
        sent = row.landed if row.sent is None else min(row.sent, row.landed)
        if row.sent is not None:
            one.latencies.append(row.landed - row.sent)
        _sent(flow, sent, begin)
    for copy in facts.still_waiting():
        _sent(flow, copy.sent, begin)
    if early:
        notes.append(f"Landed before sent, by these clocks: {early:,}. One was set back.")
    if untimed and any(one.latencies for one in flow.bins):
        notes.append(f"Without a time of sending, counted as sent when landed: {untimed:,}.")
    if facts.landed_cut:
        oldest = min(row.landed for row in facts.landed or ())
        if oldest > begin:
            notes.append(
                f"Only the newest {LOOKED:,} rows of Landing were read: nothing is known of what landed "
                f"before {utc(oldest)} UTC."
            )


def _sent(flow: Flow, moment: int, begin: int) -> None:
    if moment < begin:
        flow.before += 1
    else:
        flow.at(moment).sent += 1


def _of_watched(watched: Sequence[Look], since: int) -> Flow:
    """The bins of a run from its samples: in each what was counted since the one before."""
    flow = empty(since, since + max(1, round(watched[-1].second * 1000)))
    sent = landed = 0
    for one in watched:
        place = flow.at(since + round(one.second * 1000))
        place.sent += one.sent - sent
        place.landed += one.landed - landed
        sent, landed = one.sent, one.landed
    return flow


def share(values: Sequence[int], part: float) -> int | None:
    """The smallest value that ``part`` of them do not exceed. values: in order."""
    return values[math.ceil(part * len(values)) - 1] if values else None


def _told(title: str, facts: Facts, flow: Flow, notes: list[str]) -> Section:
    every = sorted(each for one in flow.bins for each in one.latencies)
    landed = sum(one.landed for one in flow.bins)
    wide = how_long(flow.width)
    first = f"{many(landed, 'message')} landed between {utc(facts.since)} and {utc(facts.now)} UTC"
    if every:
        first += f", half of them within {how_long(share(every, 0.5))}"
    said = [first, f"Each bin is {wide} wide."]
    if every:
        shares = (("half", 0.5), ("90 of 100", 0.9), ("99 of 100", 0.99), ("all", 1))
        told = "; ".join(f"{name} within {how_long(share(every, part))}" for name, part in shares)
        said += [f"Latency, from sent to landed, of {many(len(every), 'message')}: {told}.", CLOCK]
    elif landed:
        said.append(
            "Latency is not known: these messages carry no time of sending ([envelope].who)."
        )
    else:
        said.append("Nothing landed, so there is no latency.")
    if flow.before:
        said.append(f"Sent before this period: {flow.before:,}.")
    if facts.waiting is None and flow.times:
        said.append("What waits could not be looked at: sent are only messages that have landed.")
    return Section(
        "flow", title, (*said, *notes), tables=(_table(flow),), pictures=_pictures(flow, wide or "")
    )


def _table(flow: Flow) -> Table:
    sent, landed = flow.before, 0
    rows = []
    for one in flow.bins:
        sent, landed = sent + one.sent, landed + one.landed
        ordered = sorted(one.latencies)
        rows.append(
            (
                utc(one.begin),
                one.sent if flow.times else None,
                one.landed,
                sent if flow.times else None,
                landed,
                share(ordered, 0.5) if one.landed else "",
                share(ordered, 0.99) if one.landed else "",
            )
        )
    head = ("from, UTC", "sent", "landed", "sent so far", "landed so far", "median, ms", "99 %, ms")
    return Table("bins", f"Messages, in bins of {how_long(flow.width)}", head, tuple(rows))


def _pictures(flow: Flow, wide: str) -> str:
    """So far on one axis; landed by bin; latency by bin."""
    begin, end = flow.bins[0].begin / 1000, (flow.bins[-1].begin + flow.width) / 1000
    step = flow.width / 1000
    sent: list[tuple[float, float]] = [(begin, flow.before)]
    landed: list[tuple[float, float]] = [(begin, 0)]
    for one in flow.bins:
        until = one.begin / 1000 + step
        sent.append((until, sent[-1][1] + one.sent))
        landed.append((until, landed[-1][1] + one.landed))
    lines = [Series("landed", landed)]
    if flow.times:
        lines = [Series("sent", sent), Series("landed", landed)]
    said = f"At the end {sent[-1][1]:,.0f} sent and {landed[-1][1]:,.0f} landed; figures in the table below."
    said = (
        said
        if flow.times
        else f"At the end {landed[-1][1]:,.0f} landed; figures in the table below."
    )
    axes = ("UTC", "messages so far")
    drawn = picture("Sent and landed so far", said, lines, begin, end, axes)
    bars = [Series("landed", [(one.begin / 1000, one.landed) for one in flow.bins], step)]
    most = max(one.landed for one in flow.bins)
    drawn += picture(
        f"Landed in each {wide}",
        f"At most {most:,} in one bin; figures in the table below.",
        bars,
        begin,
        end,
        ("UTC", f"messages per {wide}"),
    )
    late = [
        Series(
            name,
            [
                (one.begin / 1000 + step / 2, max(0, share(sorted(one.latencies), part) or 0))
                for one in flow.bins
                if one.latencies
            ],
        )
        for name, part in (("median", 0.5), ("99 of 100", 0.99))
    ]
    if late[0].points:
        said = "Median and what 99 of 100 messages do not exceed; figures in the table below."
        drawn += picture("Latency of what landed", said, late, begin, end, ("UTC", "milliseconds"))
    return drawn
