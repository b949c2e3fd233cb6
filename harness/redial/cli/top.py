"""``redial top``: an installation on the screen, drawn anew every few seconds; or once, for programs."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redial.cli.configs import load_named
from redial.cli.doctor_site import Site
from redial.cli.errors import UserError, command, waits
from redial.cli.keyboard import keys
from redial.cli.server import named_server
from redial.cli.watching import Looking, Seen, Watch
from redial.operate.figures import Rates, Sample, Session, rates
from redial.quoting import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

FASTEST, SLOWEST = 0.5, 3600.0
"""Seconds between two looks."""
SORTS: dict[str, Any] = {
    "the longest wait": lambda one: (-one.seconds, -one.waiting, one.id),
    "the most waiting": lambda one: (-one.waiting, -one.seconds, one.id),
    "the oldest transaction": lambda one: (one.begun is None, one.begun, one.id),
}
"""Of sessions, by what comes first."""
SESSIONS = 8
"""Sessions that are shown."""
UNKNOWN = Rates(None, None, None)
HELP = "q quit   p pause   s sort   w write a snapshot"
QUIT = ("q", "Q", "\x03", "\x04")
HEARS = 0.1
"""Seconds a look that has come waits at most until it is drawn."""
LONG = 2
"""Seconds without an answer that are said."""
DUMB = ("dumb", "unknown", "")
"""TERM of a terminal that draws nothing anew."""


@command
def top(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    every: float = 2.0,
    once: bool = False,
    form: str = "text",
    wait_seconds: int = 15,
) -> int:
    """Draw the figures every ``every`` seconds until q is pressed; with ``once`` print them.

    form: text or json, the second with ``once`` only. Returns 0, or with ``once`` 4 where a database could
    not be asked.
    """
    waits(wait_seconds)
    if form not in ("text", "json"):
        raise UserError(f"--format {form}", "is not known", "use one of: text, json")
    if form == "json" and not once:
        raise UserError("--format json", "goes with --once only", "add --once")
    if not FASTEST <= every <= SLOWEST:
        raise UserError(f"--every {every:g}", "is no interval", f"use {FASTEST:g} to {SLOWEST:g}")
    model = load_named(config)
    site = Site(model, named_server(server, must_be_named=True), database, wait_seconds)
    with Watch(site) as watch:
        if once:
            return _once(Screen(model.name, watch.look(time.monotonic())), form)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UserError("redial top", "draws on a terminal, and this is none", "add --once")
        if os.name != "nt" and (term := os.environ.get("TERM", "")) in DUMB:
            why = "is a terminal on which nothing can be drawn anew"
            raise UserError(f"TERM={term}", why, "add --once, or set TERM, to xterm say")
        _live(watch, model.name, every)
    return 0


@dataclass
class Screen:
    """What is drawn."""

    config: str
    seen: list[Seen]
    """Of the last look."""
    known: list[Sample] = field(default_factory=list)
    """The last sample of each database: it stays while a connection is lost."""
    whole: list[Sample] = field(default_factory=list)
    """Those of the last look in which all have answered."""
    per_second: Rates = UNKNOWN
    sort: str = next(iter(SORTS))
    paused: bool = False
    waits: int = 0
    """Seconds that an answer has been waited for."""
    said: str = ""
    """In the last line: what a key has done."""

    def __post_init__(self) -> None:
        self.looked(self.seen)

    def looked(self, seen: list[Seen]) -> None:
        """Keep what was seen; of a database that has not answered what was seen before."""
        self.seen = seen
        fresh = [one.sample for one in seen if one.sample]
        if len(fresh) == len(seen):
            self.per_second = rates(self.whole, fresh) if self.whole else UNKNOWN
            self.whole = fresh
        by_place = {one.place: one for one in [*self.known, *fresh]}
        self.known = [by_place[one.place] for one in seen if one.place in by_place]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "config": self.config,
            "taken": datetime.now(UTC).isoformat(timespec="seconds"),
            "per_second": vars(self.per_second),
            "databases": [_database(one) for one in self.seen],
        }


def _database(seen: Seen) -> dict[str, Any]:
    said: dict[str, Any] = {"server": seen.place.server, "database": seen.place.database}
    if seen.sample is None:
        return said | {"error": seen.trouble and vars(seen.trouble)}
    shown = seen.sample
    sessions = None if shown.sessions is None else [one._asdict() for one in shown.sessions]
    return said | {
        "error": None,
        "figures": [
            {"name": name, "label": label, "value": value}
            for (name, label), value in shown.figures.items()
        ],
        "sessions": sessions,
        "errors": [one._asdict() for one in shown.errors],
    }


def _once(screen: Screen, form: str) -> int:
    if form == "json":
        print(json.dumps(screen.as_json(), indent=1, default=str, ensure_ascii=False))
    else:
        from rich.console import Console

        console = Console(markup=False, emoji=False, highlight=False)
        if not console.is_terminal:
            console.width = 120
        console.print(drawn(screen, live=False))
    troubles = [one.trouble for one in screen.seen if one.trouble]
    for trouble in troubles if form == "json" else ():
        print(trouble, file=sys.stderr)
    return 4 if troubles else 0


def _live(watch: Watch, config: str, every: float) -> None:
    """Until q, Ctrl+C or the end of the terminal."""
    from rich.live import Live

    screen, asked, due = Screen(config, []), 0.0, 0.0
    with (
        Looking(watch) as looking,
        keys() as pressed,
        Live(drawn(screen), screen=True, auto_refresh=False) as live,
    ):
        while True:
            now = time.monotonic()
            if now >= due and not looking.busy:
                due = now + every
                if not screen.paused:
                    asked = now
                    looking.begin()
            key = pressed(HEARS if looking.busy else max(0.0, due - now))
            if key in QUIT:
                return
            if key:
                _press(screen, key)
            seen, before = looking.seen(), screen.waits
            waits = int(time.monotonic() - asked) if looking.busy else 0
            screen.waits = waits if waits >= LONG else 0
            if seen is not None and not screen.paused:
                screen.looked(seen)
            if key or seen is not None or screen.waits != before:
                live.update(drawn(screen), refresh=True)


def _press(screen: Screen, key: str) -> None:
    screen.said = ""
    if key in ("p", " "):
        screen.paused = not screen.paused
    elif key == "s":
        names = list(SORTS)
        screen.sort = names[(names.index(screen.sort) + 1) % len(names)]
    elif key == "w":
        path = Path(f"{screen.config}-top-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json")
        try:
            path.write_text(json.dumps(screen.as_json(), indent=1, default=str) + "\n", "utf-8")
            screen.said = f"written: {path}"
        except OSError as error:
            screen.said = f"not written: {path}: {error.strerror}"


# ------------------------------------------------------------------ what it looks like
def drawn(screen: Screen, *, live: bool = True) -> RenderableType:
    """The whole screen. live: keys are heard, and an earlier look may stand there."""
    from rich.console import Group
    from rich.text import Text

    lines: list[RenderableType] = [Text(_head(screen), style="bold")]
    if screen.waits:
        older = "; what stands here is older" * bool(screen.known)
        lines.append(Text(f"no answer for {screen.waits} s{older}", style="red"))
    elif not (screen.seen or screen.paused):
        lines.append(Text("asking"))
    for one in screen.seen:
        if one.trouble:
            before = any(known.place == one.place for known in screen.known)
            said = "no answer, shown as it was before" if before else "no answer"
            lines.append(Text(f"{said}: {one.trouble}", style="red"))
    for shown in screen.known:
        lines += [Text(""), Text(visible(str(shown.place)), style="bold"), _queues(shown)]
        lines += [Text(line) for line in _figures(shown)]
        lines += _sessions(shown, screen.sort)
        lines += [
            Text(visible(f"{e.when:%H:%M:%S} {e.procedure} {e.number or ''} {e.message}")[:200])
            for e in shown.errors
        ]
    if not live:
        return Group(*lines)
    state = "paused   " if screen.paused else ""
    lines += [Text(""), Text(f"{state}{HELP}", style="dim"), Text(visible(screen.said))]
    return Group(*lines)


def _head(screen: Screen) -> str:
    each = vars(screen.per_second)
    said = "   ".join(
        f"{name} {'?' if value is None else format(value, ',.1f')}/s"
        for name, value in each.items()
    )
    return f"{screen.config}   {said}"


def _queues(shown: Sample) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title_justify="left")
    for heading in ("queue", "receive", "activation", "messages", "readers"):
        table.add_column(heading, justify="right" if heading in ("messages", "readers") else "left")
    for name in shown.labels("queue_messages"):
        running = shown.one("queue_readers", name)
        readers = f"{'?' if running is None else running} of {_number(shown.one('queue_readers_most', name))}"
        table.add_row(
            visible(name),
            _on(shown.one("queue_receive_enabled", name)),
            _on(shown.one("queue_activation_enabled", name)),
            _number(shown.one("queue_messages", name)),
            readers,
        )
    return table


def _on(value: int | None) -> str:
    return "?" if value is None else "on" if value else "OFF"


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _figures(shown: Sample) -> list[str]:
    """Lines of figures, each with what it is."""
    rows = ", ".join(f"{of} {_number(shown.one('rows', of))}" for of in shown.labels("rows"))
    gate = {None: "?", 0: "CLOSED"}.get(shown.one("gate_open"), "open")
    lines = [f"gate {gate}   rows: {rows}"]
    if shown.one("unlanded_dialogs") is not None:
        lines.append(
            f"not landed: {_number(shown.one('rows', 'SentMessage'))} messages, the oldest "
            f"{_number(shown.one('unlanded_oldest_seconds'))} s old"
        )
    lines.append(
        f"dead letters unhandled: {_number(shown.one('dead_letters_unhandled'))}   errors in the last hour: "
        f"{_number(shown.one('errors_last_hour'))}   conversations slowed: "
        f"{shown.one('conversations_slowed') or 0}, waiting: {shown.one('conversations_waiting') or 0}"
    )
    dialogs = ", ".join(
        f"{of} {_number(shown.one('endpoints', of))}{_age(shown.one('endpoints_oldest_seconds', of))}"
        for of in shown.labels("endpoints")
    )
    lines.append(f"dialogs: {dialogs or 'none'}")
    pending = ", ".join(
        f"{of} {_number(shown.one('pending', of))}{_age(shown.one('pending_oldest_seconds', of))}"
        for of in shown.labels("pending")
    )
    return [*lines, f"on the way to a queue: {pending or 'nothing'}"]


def _age(seconds: int | None) -> str:
    return "" if seconds is None else f" (oldest {seconds:,} s)"


def _sessions(shown: Sample, sort: str) -> list[RenderableType]:
    from rich.text import Text

    if shown.sessions is None:
        return [Text("who blocks: not to be seen with this login (docs/howto/doctor.md)")]
    found: Sequence[Session] = sorted(shown.sessions, key=SORTS[sort])
    if not found:
        return [Text("no open transaction holds what is ours")]
    lines = [
        visible(f"  {one.who}: {one.waiting} wait, {one.seconds} s; open since {one.begun}")
        for one in found[:SESSIONS]
    ]
    more = [f"  and {len(found) - SESSIONS} more"] * (len(found) > SESSIONS)
    return [Text(f"open transactions, {sort} first:"), *map(Text, [*lines, *more])]
