"""Small landings with faults put in, and what an audit must say of them, in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

START = datetime(2026, 3, 1, tzinfo=UTC)
LANDED = "conversation string, sequence long, type string, landed timestamp, sent timestamp, "
LANDED += "key string, key_seq long, message_id string"
LOG = "Handle string, ConversationId string, ConversationKey string, ResendOf string, "
LOG += "BegunUtc timestamp, EndOfStreamUtc timestamp, EndedUtc timestamp, Messages long, "
LOG += "Resent long"
DEAD = "ConversationId string, MessageSequence long, MessageType string"


def moment(second: float) -> datetime:
    return START + timedelta(seconds=second)


@dataclass
class Dialog:
    """One conversation: arrivals are (number, second), number ``messages`` is EndOfStream's.

    messages: as the log tells, None while it is open. ended: the second it was ended.
    """

    arrivals: list[tuple[int, int]] = field(default_factory=list)
    messages: int | None = None
    logged: bool = True
    ended: int | None = None
    end_landed: int | None = None
    resent: int = 0
    dead: set[int] = field(default_factory=set)

    def landed_rows(self, name: str) -> list[tuple]:
        rows = [(n, "event", at) for n, at in self.arrivals]
        if self.end_landed is not None:
            rows.append((self.messages, "EndOfStream", self.end_landed))
        return [(name, n, kind, moment(at), None, None, None, None) for n, kind, at in rows]

    def log_row(self, name: str) -> tuple:
        sent = None if self.messages is None else moment(90)
        ended = None if self.ended is None else moment(self.ended)
        return (f"h-{name}", name, None, None, START, sent, ended, self.messages, self.resent)


@st.composite
def dialogs(draw) -> Dialog:
    """A dialog delivered in batches, then spoilt: numbers taken out, repeated or brought late, and
    its tail not there."""
    count = draw(st.sampled_from((9, 8, 7, 5, 3, 1, 0)))
    second, arrivals = 0, []
    for number in range(count):
        second += draw(st.integers(0, 1))
        arrivals.append((number, second))
    arrivals = arrivals[: max(0, count - draw(st.sampled_from((0, 0, 0, 2))))]
    closed = draw(st.sampled_from((True, True, False)))
    logged = not closed or draw(st.sampled_from((True, True, False)))
    found = Dialog(arrivals, count if closed else None, logged)
    if closed and draw(st.booleans()):
        found.end_landed = second + 1
    if closed and found.logged and draw(st.booleans()):
        found.ended = 100
        found.resent = draw(st.sampled_from((2, 1, 0)))
    for number in sorted(draw(st.sets(st.integers(0, 6), max_size=2))):
        fault = draw(st.sampled_from(("late", "repeat", "dead", "lose")))
        _spoil(found, number, fault, second)
    return found


def _spoil(found: Dialog, number: int, fault: str, second: int) -> None:
    if number not in {n for n, _ in found.arrivals}:
        return
    if fault == "repeat":
        found.arrivals.append((number, second + number))
        return
    found.arrivals = [(n, at) for n, at in found.arrivals if n != number]
    if fault == "late":
        found.arrivals.append((number, second + 5 + number))
    elif fault == "dead":
        found.dead.add(number)


@dataclass(frozen=True)
class Expected:
    state: str
    missing: frozenset[int]
    lost: int
    repeats: int
    late: int
    dead: int
    pending: int


def oracle(found: Dialog, horizon: int | None = None) -> Expected:
    """The audit's words on one dialog, by sets and loops."""
    rows = list(found.arrivals)
    if found.end_landed is not None:
        rows.append((found.messages, found.end_landed))
    seen = Counter(n for n, _ in rows)
    messages = found.messages if found.logged or found.end_landed is not None else None
    over = found.logged and found.ended is not None and (horizon is None or found.ended < horizon)
    so_far = max(seen, default=-1) + 1
    if found.end_landed is not None or over:
        state, wanted = "complete", so_far if messages is None else messages
    else:
        state, wanted = ("open" if messages is None else "closing"), so_far
    missing = frozenset(range(wanted)) - set(seen) - found.dead
    resent = found.resent if found.logged else 0
    late, first = 0, {}
    for number, at in sorted(rows, key=lambda row: row[1]):
        first.setdefault(number, at)
    for number, at in first.items():
        late += any(other > number for other, moment_ in rows if moment_ < at)
    pending = max(0, messages - so_far - resent) if state == "closing" else 0
    return Expected(
        state,
        missing,
        max(0, len(missing) - resent),
        sum(seen.values()) - len(seen),
        late,
        len(found.dead - set(seen)),
        pending,
    )
