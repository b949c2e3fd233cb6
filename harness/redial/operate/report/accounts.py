"""Whether what was sent is all accounted for, dialog by dialog, as far as rows are still there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from redial.config import Config
from redial.config.choices import Delivery
from redial.operate.doctor import Status
from redial.operate.report.asking import (
    LANDING_PURGED,
    LETTERS_PURGED,
    LOGS_PURGED,
    LOOKED,
    Dialog,
    Facts,
)
from redial.operate.report.model import Cell, Section, Table, many, utc

WORST = 20
"""Dialogs that are named one by one."""
OVER, MOVING, OLD = "ended", "moving", "older"


@dataclass
class _Sums:
    """Of several dialogs."""

    dialogs: int = 0
    sent: int = 0
    first: int = 0
    """Of those sent: not for a second time."""
    landed: int = 0
    resent: int = 0
    by_sender: int = 0
    by_target: int = 0
    waiting: int = 0

    @property
    def found(self) -> int:
        return self.landed + self.resent + self.by_sender + self.by_target + self.waiting


@dataclass
class _Account:
    """What the judged dialogs come to."""

    sums: dict[str, _Sums] = field(
        default_factory=lambda: {name: _Sums() for name in (OVER, MOVING, OLD)}
    )
    missing: list[tuple[Dialog, _Sums]] = field(default_factory=list)
    twice: int = 0
    strange: int = 0
    """Landed on dialogs that ConversationLog does not have."""

    @property
    def lost(self) -> int:
        return sum(one.sent - one.found for _, one in self.missing)


def accounting(config: Config, facts: Facts) -> Section:
    """Sent, landed, waiting and dead: sums of dialogs that have ended, which must agree."""
    title = "Accounting"
    if facts.hooked:
        hook = config.target.hook
        said = f"Not to be made: {hook} takes the messages, and what it does with them is its own"
        return Section("accounting", title, (said,))
    if facts.dialogs is None or facts.landed is None or facts.waiting is None or facts.dead is None:
        said = "Not to be made: a part of it could not be looked at, see there"
        return Section("accounting", title, (said,), tables=_partly(facts))
    horizon = _horizon(facts)
    account = _counted(config, facts, horizon)
    status, first = _verdict(config, facts, account)
    said_more = _remarks(config, facts, account, horizon)
    tables = [_table(account)]
    if account.missing:
        tables.append(_named(account))
    return Section("accounting", title, (first, *said_more), status, tuple(tables))


def _horizon(facts: Facts) -> int | None:
    """Since when all that landed is still there, and was read; None: from the beginning."""
    if not facts.landed_cut and facts.purged is not None and LANDING_PURGED not in facts.purged:
        return None
    return min((row.landed for row in facts.landed or ()), default=facts.now)


def _counted(config: Config, facts: Facts, horizon: int | None) -> _Account:
    assert facts.dialogs is not None and facts.landed is not None
    types = {one.name for one in config.message_types}
    landed = Counter(row.conversation for row in facts.landed if row.user)
    waiting = Counter(one.conversation for one in facts.still_waiting())
    dead: Counter[str] = Counter()
    for row in facts.dead or ():
        if row.side == "target" and row.type in types:
            dead[row.conversation] += row.letters
    account = _Account()
    for one in facts.dialogs:
        own = _Sums(
            1,
            one.messages or 0,
            0 if one.private else one.messages or 0,
            landed[one.conversation],
            one.resent or 0,
            one.dead or 0,
            dead[one.conversation],
            waiting[one.conversation],
        )
        where = MOVING if one.ended is None else OVER
        if where == OVER and ((horizon and one.begun < horizon) or one.messages is None):
            where = OLD
        total = account.sums[where]
        for name, value in vars(own).items():
            setattr(total, name, getattr(total, name) + value)
        if where == OVER:
            account.twice += max(0, own.found - own.sent)
            if own.found < own.sent:
                account.missing.append((one, own))
    known = {one.conversation for one in facts.dialogs}
    account.strange = sum(  # a dialog begun since the look began is no stranger
        row.user and row.landed < facts.now and row.conversation not in known
        for row in facts.landed
    )
    account.missing.sort(key=lambda each: (each[1].found - each[1].sent, each[0].conversation))
    return account


def _verdict(config: Config, facts: Facts, account: _Account) -> tuple[Status, str]:
    """What the sums come to, in a sentence."""
    ended = account.sums[OVER]
    if not account.missing and account.strange and LOGS_PURGED not in (facts.purged or ()):
        strange = many(account.strange, "message")
        return Status.WARNINGS, f"{strange} landed on dialogs that ConversationLog does not have"
    if not ended.dialogs:
        return Status.CLEAN, "Nothing to compare: no dialog that can be judged has ended"
    of = f"{many(ended.first, 'message')} sent on {many(ended.dialogs, 'dialog')} that ended"
    if not account.missing:
        return Status.CLEAN, f"{of}: every one is accounted for"
    first = f"{many(account.lost, 'message')} not accounted for, of {of}"
    if config.conversation.delivery == Delivery.EXACTLY_ONCE:
        return Status.WARNINGS, f"{first}; they may be repeats, which the target drops (Inbox)"
    if facts.purged is None or LETTERS_PURGED in facts.purged or facts.dead_cut:
        return Status.WARNINGS, f"{first}; they may be dead letters that are gone, or were not read"
    return Status.ACT_NOW, first


def _remarks(config: Config, facts: Facts, account: _Account, horizon: int | None) -> list[str]:
    """What must be known beside the sums."""
    said = [
        "Counted are dialogs that had ended before the look began: on those nothing moves any more. What was "
        "sent again counts once more on the dialog that carries it."
    ]
    if moving := account.sums[MOVING].dialogs:
        dialogs = many(moving, "dialog")
        said.append(
            f"Open, ending, or ended by hand: {dialogs}. What was sent on one is known at its end."
        )
    if horizon is not None:
        why = f"only the newest {LOOKED:,} rows of Landing were read" * facts.landed_cut
        if facts.purged is None:
            why = why or "nobody may say whether landed rows were purged"
        elif LANDING_PURGED in facts.purged:
            why = why or f"landed rows were purged, last {utc(facts.purged[LANDING_PURGED])} UTC"
        old = many(account.sums[OLD].dialogs, "dialog")
        said.append(f"Not judged: {old} begun before {utc(horizon)} UTC, for {why}.")
    elif account.sums[OLD].dialogs:
        old = many(account.sums[OLD].dialogs, "dialog")
        said.append(f"Not judged: {old} that ended without a count of what was sent.")
    if account.twice:
        said.append(
            f"More than was sent: {many(account.twice, 'message')}, landed and sent again all the same. With "
            "delivery at_least_once that may be."
        )
    if account.strange:
        strange = f"On dialogs that ConversationLog does not have landed: {account.strange:,}."
        when = (facts.purged or {}).get(LOGS_PURGED)
        why = "Nobody is known to have purged it: has somebody begun dialogs without it?"
        said.append(f"{strange} {f'It was purged, last {utc(when)} UTC.' if when else why}")
    return said


def _table(account: _Account) -> Table:
    ended, moving = account.sums[OVER], account.sums[MOVING]
    hidden = None if moving.dialogs else 0
    rows: list[tuple[Cell, ...]] = [("dialogs", ended.dialogs, moving.dialogs, "")]
    rows += [
        (words, getattr(ended, name), hidden if name == "sent" else getattr(moving, name), meaning)
        for words, name, meaning in (
            ("sent", "sent", "ConversationLog.Messages, also what was sent again"),
            ("landed", "landed", "rows of Landing, by dialog"),
            ("sent again", "resent", "on a dialog of their own, where they count once more"),
            ("dead, sender", "by_sender", "dead letters of the sender's side, handled ones too"),
            ("dead, target", "by_target", "dead letters of the target's side, handled ones too"),
            ("waiting", "waiting", "copies the sender keeps until their message has landed"),
            ("sum", "found", "landed, sent again, dead and waiting"),
        )
    ]
    rows.append(("missing", account.lost, hidden, "sent and nowhere; must be 0"))
    rows.append(("more than sent", account.twice, hidden, "landed twice"))
    return Table(
        "sums",
        "Messages from sender to target",
        ("", "dialogs that ended", "other dialogs", "what is counted"),
        tuple(rows),
    )


def _named(account: _Account) -> Table:
    rows = tuple(
        (
            *(one.conversation, utc(one.begun), utc(one.ended), own.sent, own.landed, own.resent),
            *(own.by_sender + own.by_target, own.waiting, own.sent - own.found),
        )
        for one, own in account.missing[:WORST]
    )
    head = ("conversation", "begun, UTC", "ended, UTC", "sent", "landed", "sent again", "dead")
    return Table(
        "missing",
        f"Dialogs with missing messages: {len(rows)} of {len(account.missing):,}, the worst first",
        (*head, "waiting", "missing"),
        rows,
    )


def _partly(facts: Facts) -> tuple[Table, ...]:
    """What is known when the sums cannot be made."""
    dialogs = facts.dialogs
    rows: tuple[tuple[Cell, ...], ...] = (
        ("sent", None if dialogs is None else sum(one.messages or 0 for one in dialogs)),
        ("landed", None if facts.landed is None else sum(row.user for row in facts.landed)),
        ("sent again", None if dialogs is None else sum(one.resent or 0 for one in dialogs)),
        ("dead", None if facts.dead is None else sum(one.letters for one in facts.dead)),
        ("waiting", None if facts.waiting is None else len(facts.waiting)),
    )
    return (Table("parts", "What could be counted", ("", "messages"), rows),)
