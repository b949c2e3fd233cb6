"""How long dialogs live and how they end, and the dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redial.charts import Series, picture
from redial.operate.doctor import Look, Status
from redial.operate.report.asking import Dead, Dialog, Facts
from redial.operate.report.flow import empty, share
from redial.operate.report.model import Cell, Section, Table, how_long, many, utc

ENDPOINTS = "endpoints"
"""The finding of usp_Health that counts endpoints by state."""
HOUR = 3_600_000
"""Milliseconds."""
MOST = 20
"""Lines of a table of codes."""


def life(facts: Facts, looks: Sequence[Look]) -> Section:
    """The section on dialogs. looks: what usp_Health says of each database."""
    title = "Dialogs"
    states = _states(looks)
    tables = [states] if states.rows else []
    if facts.dialogs is None:
        hidden = "Not known: ConversationLog could not be looked at, see there"
        return Section("dialogs", title, (hidden,), tables=tuple(tables))
    begun, recycled, ended = _rates(facts)
    span = facts.now - facts.since
    counts = [sum(each.values()) for each in (begun, recycled, ended)]
    rate = f", {counts[1] * HOUR / span:,.1f} an hour" if span >= HOUR else ""
    first = (
        f"{many(counts[1], 'dialog')} recycled in {how_long(span)}{rate}; "
        f"{counts[0]:,} begun, {counts[2]:,} ended"
    )
    open_ = sorted(facts.now - one.begun for one in facts.dialogs if one.ended is None)
    said = [first]
    if open_:
        said.append(
            f"{many(len(open_), 'dialog')} not written down as ended: half younger than "
            f"{how_long(share(open_, 0.5))}, the oldest begun {how_long(open_[-1])} ago."
        )
    else:
        said.append("No dialog is open.")
    ages = sorted(
        one.end_of_stream - one.begun
        for one in facts.dialogs
        if one.end_of_stream and not one.private and one.end_of_stream >= facts.since
    )
    if ages:
        said.append(
            f"Age at which a dialog was replaced: median {how_long(share(ages, 0.5))}, at most "
            f"{how_long(ages[-1])}."
        )
    flow = empty(facts.since, facts.now)
    rows = tuple(
        (utc(one.begin), begun[one.begin], recycled[one.begin], ended[one.begin])
        for one in flow.bins
    )
    wide = how_long(flow.width)
    head = ("from, UTC", "begun", "recycled", "ended")
    tables.append(Table("bins", f"Dialogs, in bins of {wide}", head, rows))
    failed = _failed(facts.dialogs)
    tables += [failed] if failed.rows else []
    bars = [
        Series(
            "recycled",
            [(one.begin / 1000, recycled[one.begin]) for one in flow.bins],
            flow.width / 1000,
        )
    ]
    drawn = picture(
        f"Dialogs recycled in each {wide}",
        f"{counts[1]:,} in all; figures in the table below.",
        bars,
        flow.bins[0].begin / 1000,
        (flow.bins[-1].begin + flow.width) / 1000,
        ("UTC", f"dialogs per {wide}"),
    )
    return Section("dialogs", title, tuple(said), tables=tuple(tables), pictures=drawn)


def _rates(facts: Facts) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """Dialogs begun, recycled and ended, by the begin of their bin."""
    flow = empty(facts.since, facts.now)
    found: tuple[Counter[int], Counter[int], Counter[int]] = (Counter(), Counter(), Counter())
    for one in facts.dialogs or ():
        for when, counted in zip((one.begun, one.end_of_stream, one.ended), found, strict=True):
            if when is not None and when >= facts.since:
                counted[flow.at(when).begin] += 1
    return found


def _states(looks: Sequence[Look]) -> Table:
    rows = tuple(
        (str(look.place.database), row.object, row.figure)
        for look in looks
        for row in look.found
        if row.id == ENDPOINTS
    )
    head = ("database", "side and state", "endpoints")
    return Table("states", "Endpoints now, by usp_Health", head, rows)


def _failed(dialogs: Sequence[Dialog]) -> Table:
    """Dialogs that ended with an Error message, by code."""
    found: dict[int, list[Dialog]] = {}
    for one in dialogs:
        if one.code and one.ended is not None:
            found.setdefault(one.code, []).append(one)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    rows = tuple(
        (
            code,
            len(some),
            utc(max(one.ended or 0 for one in some)),
            min((one.reason for one in some if one.reason), default=""),
        )
        for code, some in ordered[:MOST]
    )
    head = ("code", "dialogs", "last, UTC", "a reason")
    return Table(
        "codes", "Dialogs that ended with an error, as far as the log goes back", head, rows
    )


def dead_letters(facts: Facts) -> Section:
    """The section on dead letters."""
    title = "Dead letters"
    if facts.dead is None:
        return Section("dead", title, ("Not known: DeadLetter could not be looked at, see there",))
    waiting = sum(one.letters for one in facts.dead if not one.handled)
    handled = sum(one.letters for one in facts.dead if one.handled)
    if not waiting and not handled:
        return Section("dead", title, ("There is none",))
    groups: dict[tuple[str, int | None, str], list[Dead]] = {}
    for one in facts.dead:
        groups.setdefault((one.side, one.code, one.type), []).append(one)
    rows: list[tuple[Cell, ...]] = []
    for (side, code, type_), some in groups.items():
        left = sum(one.letters for one in some if not one.handled)
        rows.append(
            (
                *(side, code, type_, left, sum(one.letters for one in some) - left),
                utc(min(one.first for one in some)),
                utc(max(one.last for one in some)),
                min((one.reason for one in some if one.reason), default=""),
            )
        )
    rows.sort(key=lambda row: (-int(row[3] or 0), str(row[0]), int(row[1] or 0), str(row[2])))
    head = ("side", "code", "type", "unhandled", "handled", "first, UTC", "last, UTC", "a reason")
    more = f", the first {MOST} of {len(rows)}" if len(rows) > MOST else ""
    table = Table("letters", f"By side, code and type{more}", head, tuple(rows[:MOST]))
    status = Status.ACT_NOW if waiting else Status.CLEAN
    return Section(
        "dead", title, (f"{waiting:,} unhandled, {handled:,} handled",), status, (table,)
    )
