"""The verdict: from the callers' journals, held against where messages are."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from redial.config import Config
from redial.paths import DOCS
from redial_lab.torture.caller_journal import FAILED, OK, Entry, Journal, Name
from redial_lab.torture.what_landed import Evidence, Landed, Number

LONGEST = 31 * 86400.0
"""A lifetime of this and more is not waited for, in seconds."""

ERRORS_PAGE = DOCS / "errors.md"

MEANING = {
    "lost": "acknowledged, and nowhere",
    "landed though failed": "its caller was told that it is not there",
    "doubled": "landed twice, with exactly_once",
    "misordered in a dialog": "landed in another order than it was sent in",
    "misordered by key": "numbers of a key against the order of its transactions",
    "split": "one transaction's messages on several dialogs",
    "gap": "a number of a key that is neither landed, nor on its way, nor said to be skipped",
    "number given twice": "two messages of a key with one number",
    "poison landed": "the target's procedure refused it and it landed all the same",
    "stuck": "still on its way when nothing moves any more",
    "leaked": "a dialog that nobody will end",
    "queue off": "a queue that switched itself off, after five rollbacks in a row",
    "connection left": "a caller's connection with an open transaction",
    "waits for ever": "a batch that was never answered",
    "unknown error": "a number a caller saw and docs/errors.md does not name",
    "odd transaction": "a caller's transaction had ended without a word",
    "broker broke": "a defect of the embedded broker: not Redial's",
    "no rest": "what an operator does at the end failed",
    "no verdict": "the trial itself broke: a defect of the torture",
}
"""Every kind of finding."""


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    kind: str
    what: str
    """Words, with names of messages."""


@dataclass
class Verdict:
    """What callers were told, held against what is there."""

    findings: list[Finding] = field(default_factory=list)
    """None is what everybody hopes for."""
    counts: Counter[str] = field(default_factory=Counter)
    """Of messages, by what became of them."""

    @property
    def kinds(self) -> set[str]:
        """What kinds of findings there are."""
        return {finding.kind for finding in self.findings}


def judge(
    config: Config, journals: Sequence[Journal], there: Evidence, mutant: bool = False
) -> Verdict:
    """Hold what callers were told against what is there. mutant: error numbers may be others."""
    verdict = Verdict()
    entries = {entry.name: entry for journal in journals for entry in journal.entries}

    def finds(kind: str, items: Iterable[object]) -> None:
        verdict.findings += [Finding(kind, str(item)) for item in items]

    landed = Counter(row.name for row in there.landed)
    dead = {name for name, _ in there.dead}
    waiting = {name for names in there.waiting.values() for name, _ in names}
    for entry in entries.values():
        verdict.counts[entry.outcome] += 1
        somewhere = entry.name in landed or entry.name in dead or entry.name in waiting
        if entry.outcome == OK and not somewhere:
            finds("lost", [_told(entry)])
        if entry.outcome == FAILED and somewhere:
            finds("landed though failed", [_told(entry)])
        if entry.poison and landed[entry.name]:
            finds("poison landed", [_told(entry)])
        if landed[entry.name] > 1:
            verdict.counts["repeated"] += 1
            if config.conversation.delivery.value == "exactly_once" and entry.message_id:
                finds("doubled", [_told(entry)])
    verdict.counts["landed"] = len(landed)
    verdict.counts["dead letters"] = len(dead - {None})
    verdict.counts["strangers"] = there.strangers
    finds(
        "lost",
        (f"{name} landed, and no caller has sent it" for name in landed if name not in entries),
    )
    finds("misordered in a dialog", _in_dialogs(there, entries, dead))
    finds("split", _split(config, there, entries, dead))
    if config.conversation.order.value == "key":
        finds("gap", _gaps(there))
        finds("number given twice", _given_twice(there))
        finds("misordered by key", _by_key(there, entries))
    finds("stuck", (f"{len(names)} in {where}" for where, names in there.waiting.items() if names))
    # Whoever ends one side WITH CLEANUP leaves the other to its lifetime: not waited for when long.
    everlasting = (config.conversation.lifetime_seconds or LONGEST) >= LONGEST
    verdict.counts["left to its lifetime"] = len(there.one_sided) if everlasting else 0
    left = there.leaked + ([] if everlasting else there.one_sided)
    finds("leaked", (f"{count} x {words}" for words, count in Counter(left).items()))
    finds("queue off", [f"{there.switched_off} times"] if there.switched_off else [])
    finds("connection left", there.held)
    for journal in journals:
        if journal.open_at_end:
            finds(
                "connection left",
                [
                    f"client {journal.client}: @@TRANCOUNT "
                    f"{journal.open_at_end} when its work was done"
                ],
            )
        if not journal.finished:
            finds("waits for ever", [f"client {journal.client}"])
        finds("odd transaction", (f"client {journal.client}: {note}" for note in journal.notes))
    if not mutant:
        seen = {number for journal in journals for number in journal.errors}
        finds("unknown error", sorted(seen - documented()))
    return verdict


@cache
def documented() -> frozenset[int]:
    """The error numbers docs/errors.md names in the first column of its tables."""
    found: set[int] = set()
    for line in ERRORS_PAGE.read_text(encoding="utf-8").splitlines():
        first = line.split("|")[1] if line.startswith("|") and line.count("|") > 2 else ""
        found |= {int(number) for number in re.findall(r"\b\d{3,5}\b", first)}
    return frozenset(found)


def _told(entry: Entry) -> str:
    name = ".".join(map(str, entry.name))
    return (
        f"message {name} ({entry.way}, {entry.style}, told {entry.outcome}, "
        f"{entry.attempts} attempts)"
    )


def _comparable(row: Landed, entries: dict[Name, Entry], dead: set[Name | None]) -> Entry | None:
    """Sent once and never set aside: then its place says when it was sent."""
    entry = entries.get(row.name)
    return entry if entry and entry.attempts == 1 and row.name not in dead else None


def _in_dialogs(there: Evidence, entries: dict[Name, Entry], dead: set[Name | None]) -> list[str]:
    """Within a dialog: numbers in the order of the transactions, rows in the order of numbers."""
    found = []
    dialogs: dict[str, list[Landed]] = defaultdict(list)
    for row in there.landed:
        dialogs[row.conversation].append(row)
    for conversation, rows in dialogs.items():
        rows.sort(key=lambda row: row.sequence)
        found += [
            f"dialog {conversation}: number {row.sequence} landed twice"
            for row, after in pairwise(rows)
            if row.sequence == after.sequence
        ]
        known = [(row.name, entry) for row in rows if (entry := _comparable(row, entries, dead))]
        found += _against_time(f"dialog {conversation}", known)
    return found


def _against_time(where: str, known: list[tuple[Name, Entry]]) -> list[str]:
    """Messages in the order of their numbers. Wrong is a later one whose caller had been answered
    before an earlier one's even began; and within a unit of work, a later before an earlier one.
    """
    found: list[str] = []
    latest: tuple[Name, Entry] | None = None
    newest: dict[tuple[int, int, str | None], int] = {}
    for name, entry in known:
        if latest and entry.answered is not None and entry.answered < latest[1].asked:
            found.append(f"{where}: {name} behind {latest[0]}, which began later")
        if latest is None or entry.asked > latest[1].asked:
            latest = (name, entry)
        unit = (*name[:2], entry.key)
        if unit in newest and newest[unit] > name[2]:
            found.append(f"{where}: {name} behind number {newest[unit]} of its own unit of work")
        newest[unit] = max(name[2], newest.get(unit, 0))
    return found


def _split(
    config: Config, there: Evidence, entries: dict[Name, Entry], dead: set[Name | None]
) -> list[str]:
    """A transaction keeps its dialog, unless a message was sent again or its dialog was dead."""
    if not config.traits.slots:
        return []
    dialogs: dict[tuple[int, int], set[str]] = defaultdict(set)
    again: set[tuple[int, int]] = set()
    times = Counter(row.name for row in there.landed)
    for row in there.landed:
        entry = _comparable(row, entries, dead)
        if entry is None or times[row.name] > 1:
            again.add(row.name[:2])
        elif entry.style != "autocommit":
            dialogs[row.name[:2]].add(row.conversation)
    return [
        f"unit of work {unit}: {len(on)} dialogs"
        for unit, on in dialogs.items()
        if len(on) > 1 and unit not in again and not there.private
    ]


def _numbers(there: Evidence) -> dict[Number, set[Name | None]]:
    found: dict[Number, set[Name | None]] = defaultdict(set)
    for row in there.landed:
        if row.number:
            found[row.number].add(row.name)
    for name, number in [*there.dead, *(one for some in there.waiting.values() for one in some)]:
        if number:
            found[number].add(name)
    return found


def _gaps(there: Evidence) -> list[str]:
    seen = set(_numbers(there)) | there.skipped
    last: dict[str, int] = {}
    for key, number in seen:
        last[key] = max(number, last.get(key, 0))
    return [
        f"key {key}: number {number} of {top}"
        for key, top in sorted(last.items())
        for number in range(1, top + 1)
        if (key, number) not in seen
    ]


def _given_twice(there: Evidence) -> list[str]:
    return [
        f"key {key}, number {number}: {sorted(map(str, names))}"
        for (key, number), names in sorted(_numbers(there).items())
        if len(names) > 1
    ]


def _by_key(there: Evidence, entries: dict[Name, Entry]) -> list[str]:
    keys: dict[str, list[tuple[int, Name, Entry]]] = defaultdict(list)
    for row in there.landed:
        entry = _comparable(row, entries, set())
        if row.number and entry:
            keys[row.number[0]].append((row.number[1], row.name, entry))
    return [
        text
        for key, rows in sorted(keys.items())
        for text in _against_time(
            f"key {key}", [(n, e) for _, n, e in sorted(rows, key=lambda row: row[0])]
        )
    ]
