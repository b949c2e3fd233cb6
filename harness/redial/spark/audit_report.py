"""What an audit says: figures, a table for the terminal, JSON, and exit status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from rich.table import Table

SHOWN = 20
"""Conversations and keys named, worst first."""


@dataclass(frozen=True)
class Finding:
    """A conversation or key that is not as it should be."""

    name: str
    state: str
    lost: int
    repeats: int
    late: int
    dead: int
    pending: int
    ranges: list[tuple[int, int]]
    """The first missing numbers."""

    def missing(self) -> str:
        """The missing numbers, shortened."""
        shown = [str(a) if a == b else f"{a}-{b}" for a, b in self.ranges[:5]]
        return ", ".join(shown) + (" ..." if len(self.ranges) > 5 else "")


@dataclass
class Profile:
    """Over time and by size."""

    times: list[tuple[datetime, int]] = field(default_factory=list)
    """(start of the slice, messages landed in it)."""
    latencies: list[tuple[float, int]] = field(default_factory=list)
    """(upper edge in ms, messages)."""
    quantiles: dict[str, float] = field(default_factory=dict)
    """0.5, 0.9, 0.99, 0.999 and the greatest, in ms, each at most 4.5 % too high; empty when
    nothing says when a message was sent."""
    backwards: int = 0
    ages: list[tuple[float, int]] = field(default_factory=list)
    """Seconds from begin to EndOfStream of recycled dialogs: (upper edge, dialogs)."""
    age_quantiles: dict[str, float] = field(default_factory=dict)
    oldest_open: float | None = None
    """Seconds from the begin of the oldest open dialog to the last row landed."""
    overlaps: int = 0
    """Recycles at which the older dialog of a key went on landing after the next one had begun to,
    longest_overlap in seconds."""
    longest_overlap: float = 0.0


@dataclass
class Report:
    """The verdict on what landed. Counts are of messages (EndOfStream rows included in landed)
    unless they say conversations or keys."""

    label: str = ""
    about: dict[str, str] = field(default_factory=dict)
    """Which server and database, what it is, when it was asked, and by which Redial."""
    exact: bool = False
    landed: int = 0
    """Rows."""
    conversations: int = 0
    complete: int = 0
    closing: int = 0
    open: int = 0
    unlogged: int = 0
    """Conversations without a row in ConversationLog."""
    unnamed: int = 0
    """Rows of ConversationLog without a conversation id, which nothing can be compared with."""
    suspects: int = 0
    lost: int = 0
    """Numbers that should be there and are nowhere."""
    dropped: int = 0
    """Repeats the target refused (exactly_once), of which nothing says which number they had."""
    dead_lettered: int = 0
    pending: int = 0
    repeated: int = 0
    """Rows of a number beyond the first."""
    resent: int = 0
    """Rows of a message id beyond the first, under numbers of their own."""
    late: int = 0
    """Numbers landed after a higher one of their conversation."""
    after_end: int = 0
    """Numbers beyond EndOfStream's."""
    keys: int = 0
    lost_by_key: int = 0
    """The same, counted by the numbers within keys; a message lost to both counts is in both."""
    unsettled_by_key: int = 0
    repeated_by_key: int = 0
    overtaken_keys: int = 0
    profile: Profile = field(default_factory=Profile)
    worst: list[Finding] = field(default_factory=list)
    worst_keys: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def gone(self) -> int:
        """Messages certainly lost: the two counts look at the same messages, so the larger one."""
        return max(0, max(self.lost, self.lost_by_key) - self.dropped)

    @property
    def clean(self) -> bool:
        """Whether nothing is lost, repeated or out of order."""
        return not (self.gone or self.repeated or self.late or self.after_end)

    def verdict(self) -> str:
        """One sentence."""
        if self.gone:
            return f"LOSS: {self.gone:,} messages were sent and are nowhere"
        where = f"{self.complete:,} complete conversations"
        if not self.clean:
            return f"nothing lost in {where}, but not once and in order: see the table"
        more = f"; {self.open + self.closing:,} still going on" if self.open + self.closing else ""
        return f"clean: {self.landed:,} rows, once and in order, {where}{more}"

    def status(self, strict: bool = False) -> int:
        """Exit status: 1 on any loss; strict: on anything that is not clean."""
        return int(bool(self.gone) or (strict and not self.clean))

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self) | {"gone": self.gone, "verdict": self.verdict()}


MEANINGS = {
    "landed": "rows, EndOfStream included",
    "lost": "missing in their conversation, not a dead letter, not resent",
    "dropped": "repeats the target refused (exactly_once): up to so many of the lost",
    "dead_lettered": "kept with code and reason",
    "pending": "behind what has landed of a closing conversation",
    "repeated": "rows of one number, beyond the first",
    "resent": "rows of one message id under other numbers, beyond the first",
    "late": "landed after a higher number of their conversation",
    "after_end": "behind their conversation's EndOfStream",
    "conversations": "",
    "complete": "EndOfStream landed, or ended on both sides",
    "closing": "EndOfStream sent, not landed yet",
    "open": "no EndOfStream yet",
    "unlogged": "conversations without a row in ConversationLog",
    "keys": "with numbered messages",
    "lost_by_key": "missing in their key",
    "unsettled_by_key": "missing in a key one of whose dialogs is closing",
    "repeated_by_key": "rows of one number of a key, beyond the first",
    "overtaken_keys": "keys whose dialogs overlapped at a recycle: order them by number",
}
SPOILING = frozenset({"lost", "repeated", "late", "after_end", "lost_by_key"})
"""Counts that are 0 in a clean audit."""

IF_ANY = frozenset({"dropped", "resent", "unlogged", "after_end"})


def rows_of(report: Report) -> Iterator[tuple[str, str, str]]:
    """Name, figure and meaning of each row of the table, on a page as in the terminal."""
    for name, meaning in MEANINGS.items():
        value = getattr(report, name)
        if not value and (name in IF_ANY or ("key" in name and not report.keys)):
            continue
        yield name, f"{value:,}", meaning
    profile = report.profile
    for name, value in profile.quantiles.items():
        yield f"latency, {name}", f"{value:,.0f}", "ms from sent to landed"
    for name, value in profile.age_quantiles.items():
        yield f"age, {name}", f"{value:,.1f}", "s from a dialog's begin to its EndOfStream"
    if profile.oldest_open is not None:
        yield "oldest open", f"{profile.oldest_open:,.1f}", "s since its begin at the last landing"
    if profile.overlaps:
        yield (
            "overlaps",
            f"{profile.overlaps:,}",
            (
                "recycles at which two dialogs of a key landed side by side, the longest "
                f"{profile.longest_overlap:,.1f} s"
            ),
        )


def report_table(report: Report) -> Table:
    """The verdict for the terminal; a count that spoils it is red."""
    table = Table(title=f"delivery audit ({report.label})", title_justify="left")
    table.add_column("")
    table.add_column("count", justify="right")
    table.add_column("")
    for name, shown, meaning in rows_of(report):
        bad = name in SPOILING and getattr(report, name)
        figure = f"[bold red]{shown}[/]" if bad else shown
        table.add_row(name.replace("_", " "), figure, meaning)
    return table


def findings_table(title: str, findings: list[Finding]) -> Table:
    """What is wrong, worst first."""
    table = Table(title=title, title_justify="left")
    for name in ("name", "state", "lost", "repeated", "late", "dead", "pending", "missing numbers"):
        table.add_column(name, justify="left" if name in {"name", "state"} else "right")
    for one in findings:
        table.add_row(
            one.name,
            one.state,
            *(f"{n:,}" for n in (one.lost, one.repeats, one.late, one.dead, one.pending)),
            one.missing(),
        )
    return table
