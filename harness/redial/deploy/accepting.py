"""Differences that somebody has accepted, with a reason: ``sql/accepted.toml`` of the project folder.

What is accepted is no finding and nothing that a plan would do; it is said each time all the same. An
entry that is no longer true is said too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase

from redial.deploy.fingerprint import Difference
from redial.deploy.fingerprint.compare import CHANGED, EXCESS, PLACE, SINCE, TEXT
from redial.deploy.fingerprint.model import DENIED, PASSED_ON
from redial.deploy.fingerprint.repair import ALLOWED, PERSON, way
from redial.deploy.verify import Look, home_of

_BEHIND = re.compile(r"\.?|[. ]+(Who may|Next): .*")
"""What may stand behind a finding: who may mend it, what to do."""
_STATE = re.compile(rf" \(({DENIED}|{PASSED_ON}|{TEXT}\w+)\)")
"""The state in it (``Difference.state``)."""


@dataclass(frozen=True)
class Entry:
    """One difference that stays."""

    where: str
    """File and line."""
    finding: str
    """As verify prints it."""
    server: str
    """Its name, compared without case; * stands for anything."""
    reason: str
    until: date | None = None
    """Last day; None: without an end."""
    config: str = ""
    database: str = ""
    """config, database: empty for any."""
    text: str = ""
    """The state, of an entry whose finding has none: a text's digest, deny, or grant with option."""

    def of(self, config: str, databases: Iterable[str]) -> bool:
        """Whether it is for a configuration and one of its databases."""
        here = {"", *(name.lower() for name in databases)}
        return self.config in ("", config) and self.database.lower() in here

    def on(self, server: str) -> bool:
        """Whether it is for a server."""
        return fnmatchcase(server.lower(), self.server.lower())


@dataclass(frozen=True)
class Accepted:
    """The entries of a file."""

    entries: tuple[Entry, ...] = ()
    today: date = date.min


NOTHING_ACCEPTED = Accepted()


def acceptable(difference: Difference) -> bool:
    """Whether somebody may want it: what no file makes, what operators decide, what surrounds it.

    Nothing that is missing, nothing of ours that is otherwise than its file, and nothing that the next
    deployment would undo all the same.
    """
    if difference.thing.kind in ("deployment", "migration"):
        return False
    how_mended = way(difference)
    of_others = difference.how in (EXCESS, SINCE) and how_mended in (ALLOWED, PERSON)
    chosen = how_mended == ALLOWED or difference.what == PLACE
    return of_others or (difference.how == CHANGED and chosen)


def words(said: str, database: str = "") -> str:
    """A finding in one line, without the database that verify prints before it."""
    line = " ".join(said.split())
    here = f"in {database}: "
    if line.startswith("in "):
        return line.removeprefix(here) if line.startswith(here) else line.partition(": ")[2]
    return line


def names(said: str, finding: str) -> bool:
    """Whether a line is a finding, alone or as verify prints it. Both as ``words`` has them.

    The finding decides where it ends: a name in it may hold whatever stands behind one.
    """
    return said.startswith(finding) and _BEHIND.fullmatch(said, len(finding)) is not None


def state_in(said: str, difference: Difference, database: str) -> str | None:
    """The state that a line has which names a difference, without its word; None: it names another."""
    line = words(said, database)
    finding = words(str(difference)).removesuffix(f" ({difference.state})")
    stated = _STATE.match(line, len(finding)) if line.startswith(finding) else None
    if not names(line, finding + (stated[0] if stated else "")):
        return None
    return stated[1].removeprefix(TEXT) if stated else ""


def accept(looks: list[Look], config: str, file: Accepted = NOTHING_ACCEPTED) -> list[Look]:
    """The looks without what the file accepts, and with what is to be said of the file."""
    if all(one.unseen or not one.installed for one in looks):
        return looks
    remarks: list[str] = []
    used: set[Entry] = set()
    judged = [_judged(one, config, file, used, remarks) for one in looks]
    remarks += _unused(judged, config, file, used)
    remarks += _gone(judged)
    home = home_of(judged)
    return [replace(one, remarks=tuple(remarks)) if one is home else one for one in judged]


def _judged(one: Look, config: str, file: Accepted, used: set[Entry], remarks: list[str]) -> Look:
    """One database. used, remarks: entries that are about something here, and what is said of them."""
    reasons: dict[Difference, str] = {}
    for difference in [*one.differences, *one.accepted]:
        for entry in file.entries:
            if not entry.of(config, [one.database]):
                continue
            state = state_in(entry.finding, difference, one.database)
            if state is None:
                continue
            used.add(entry)
            against = _against(entry, state, difference, one, file.today)
            if against:
                remarks.append(f"{entry.where}: {against}")
            else:
                reasons.setdefault(difference, _reason(entry))
    left = [each for each in one.differences if each not in reasons]
    old = [each for each in one.accepted if each not in reasons]
    return replace(one, differences=left, accepted=(*reasons, *old), reasons=reasons)


def _reason(entry: Entry) -> str:
    until = f"until {entry.until}" if entry.until else "without an end"
    return f"{entry.where}, {until}: {entry.reason}"


def _against(entry: Entry, state: str, difference: Difference, one: Look, today: date) -> str:
    """Why an entry does not accept the difference it names; empty: it does.

    state: which its finding has.
    """
    if not entry.on(one.server):
        return (
            f"accepts it on server {entry.server!r}, and this is {one.server!r}: {entry.finding}. "
            "Next: an entry for this server, or undo it here"
        )
    if not acceptable(difference):
        return (
            f"this cannot be accepted, for a deployment mends it or a person must: {entry.finding}. "
            "Next: take the entry out; do what verify says"
        )
    if entry.until is not None and entry.until < today:
        return (
            f"stale: it was accepted until {entry.until}, and today is {today}: {entry.finding}. "
            "Next: undo it; or a later day, when the reason still holds"
        )
    written_for = {state, entry.text} - {""} or {""}
    if written_for != {difference.state.removeprefix(TEXT)}:
        return (
            f"was written for another state of it: {entry.finding}. Next: look at what it is now; then copy "
            "the line that redial verify prints, and take text out where there is one"
        )
    return ""


def _unused(looks: list[Look], config: str, file: Accepted, used: set[Entry]) -> list[str]:
    """Of entries that are about nothing here: those that are stale, and files of other servers."""
    if any(one.unseen for one in looks):
        return []
    server = home_of(looks).server
    mine = [entry for entry in file.entries if entry.of(config, [one.database for one in looks])]
    said = [
        f"{entry.where}: stale: nothing of configuration {config} on {server!r} is so (any more): "
        f"{entry.finding}. Next: take the entry out; or compare its words with what verify prints"
        for entry in mine
        if entry not in used and entry.on(server)
    ]
    others = sorted({entry.server for entry in mine if not entry.on(server)})
    if others and not any(entry.on(server) for entry in mine):
        said.append(
            f"{mine[0].where.rpartition(':')[0]} accepts nothing on this server, {server!r}: its entries "
            f"are for {', '.join(others)}"
        )
    return said


def _gone(looks: list[Look]) -> list[str]:
    """What the database has accepted once and is no longer there, or is in the file by now."""
    known = home_of(looks).known
    here = {each.key(place) for place, one in enumerate(looks) for each in one.accepted}
    moved = {each.key(place) for place, one in enumerate(looks) for each in one.reasons} & known
    next_step = "Next: redial baseline, which takes it out of there"
    said: list[str] = []
    if any(one.unseen for one in looks):
        return said
    if gone := len(known - here):
        said.append(
            f"stale: an earlier version has written into the database that {gone} "
            f"difference{'s' * (gone != 1)} more {'are' if gone != 1 else 'is'} accepted, and nothing here "
            f"is so any more. {next_step}"
        )
    if moved:
        said.append(f"the database accepts {len(moved)} of these, too. {next_step}")
    return said
