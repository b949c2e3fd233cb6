"""A caller: its units of work, and what it may believe of each answer.

``Caller.work`` is a generator that yields what it wants done (``Ask``, ``Pause``, ``Renew``) and
gets a ``Said`` back, so the same caller sits in the process of an embedded broker on a virtual
clock and in a process of its own before a server.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar, cast

from redial_lab.torture.caller_journal import FAILED, OK, UNKNOWN, Entry, Journal, Row, body_of
from redial_lab.torture.calls import BATCHES, Calls, Message
from redial_lab.torture.plan import Client, Plan

STYLES = {
    "autocommit": 6,
    "transaction": 6,
    "one batch": 4,
    "savepoint": 2,
    "rollback": 2,
    "goes on": 2,
    "nested": 1,
    "implicit": 1,
    "leaves": 1,
}
"""How a unit of work is a transaction, by weight."""

ATTEMPTS = 4
"""How often a unit of work is tried that may be tried again."""


@dataclass(frozen=True)
class Ask:
    """A batch to be run; answered by ``Said``."""

    sql: str


@dataclass(frozen=True)
class Pause:
    """Think for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Renew:
    """Give the connection up, whatever is open on it, and make a new one."""


@dataclass(frozen=True)
class Said:
    """What an ``Ask`` came to."""

    rows: list[Row] = field(default_factory=list)
    errors: tuple[int, ...] = ()
    gone: bool = False
    """The connection went."""
    cancelled: bool = False
    """The caller itself cancelled."""
    now: float = 0.0
    """Seconds."""
    tick: float = 0.0
    """A clock that is the same for all callers of the trial."""

    @property
    def clean(self) -> bool:
        """Whether it was done, and the caller knows it."""
        return not (self.errors or self.gone or self.cancelled)


Told = TypeVar("Told")

Work = Generator[Ask | Pause | Renew, Said | None, Told]
"""Wishes; an answer comes back to an ``Ask`` only."""


@dataclass
class Unit:
    """One unit of work, drawn from its number."""

    style: str
    way: str
    entries: list[Entry]
    messages: list[Message]
    pauses: list[float]
    """Seconds before each call."""
    again: bool
    twice: bool


class Caller:
    """One client of a plan."""

    def __init__(
        self,
        plan: Plan,
        client: Client,
        calls: Calls,
        hooked: bool = False,
        saves: Callable[[Sequence[Entry], bool], None] = lambda entries, over: None,
    ) -> None:
        """hooked: poison is refused at the target. saves: told of each unit of work before it
        begins and when it is over. since: when the clock of its answers stood at nothing.
        """
        self.plan, self.client, self.calls, self.hooked = plan, client, calls, hooked
        self.saves, self.since = saves, 0.0
        self.longest = float(calls.config.conversation.longest_transaction_seconds)
        self.journal = Journal(client.number)
        self._tick = self._now = 0.0

    # ------------------------------------------------------------------ everything it does
    def work(self) -> Work[None]:
        """All units of work, each not before its time."""
        yield from self._connects()
        draw = Random(f"{self.plan.seed}/{self.client.number}/times")
        begins, wanted = 0.0, set(self.client.units)
        for number in range(max(wanted, default=-1) + 1):
            begins += min(draw.expovariate(1.0), 4.0) * self.client.pace
            if number in wanted:
                yield Pause(max(0.0, begins - (self._now - self.since)))
                yield from self._unit(self.draw(number))
        said = yield from self._ask("SELECT @@TRANCOUNT;")
        if said.clean:
            self.journal.open_at_end = said.rows[0][0]
        self.journal.finished = True

    def draw(self, number: int) -> Unit:
        """The unit of work of that number: the same whatever else is in the plan."""
        draw = Random(f"{self.plan.seed}/{self.client.number}/{number}")
        style = draw.choices(list(STYLES), list(STYLES.values()))[0]
        way = draw.choice(("send", *self.calls.ways))
        count = draw.choice((1, 2, 3, 5, 12)) if way in BATCHES else draw.choice((1, 1, 2, 3, 5))
        key = draw.choice(self.client.keys) if self.calls.by_key else None
        several = self.calls.by_key and draw.random() < 0.15
        entries: list[Entry] = []
        messages: list[Message] = []
        for place in range(count):
            if several:
                key = draw.choice(self.client.keys)
            name = (self.client.number, number, place)
            filler = draw.choice((0, 0, 0, 30, 300)) if draw.random() < 0.98 else 9000
            poison = self.hooked and draw.random() < 0.04
            message_id = (
                str(uuid.UUID(int=draw.getrandbits(128), version=4)).upper()
                if self.calls.with_ids and draw.random() < 0.8
                else None
            )
            entries.append(
                Entry(name, key, 0.0, way, style, FAILED, message_id=message_id, poison=poison)
            )
            messages.append(Message(body_of(name, filler, poison), key, message_id))
        pauses = [0.0] * count
        if draw.random() < 0.25:
            pauses = [draw.random() * self.longest * 0.7 / count for _ in range(count)]
        return Unit(
            style,
            way,
            entries,
            messages,
            pauses,
            again=draw.random() < 0.6,
            twice=draw.random() < 0.15,
        )

    def _unit(self, unit: Unit) -> Work[None]:
        self.journal.entries += unit.entries
        identified = all(entry.message_id for entry in unit.entries)
        for entry in unit.entries:
            entry.asked = self._tick
        self.saves(unit.entries, False)
        yield from self._attempts(unit, identified)
        self.saves(unit.entries, True)

    def _attempts(self, unit: Unit, identified: bool) -> Work[None]:
        """Until it is done, or need not or must not be tried again."""
        attempt, once_ok = 0, False
        while True:
            attempt += 1
            before = [entry.outcome for entry in unit.entries]
            for entry in unit.entries:
                entry.outcome, entry.attempts = FAILED, attempt
            yield from getattr(self, "_" + unit.style.replace(" ", "_"))(unit)
            for entry, old in zip(unit.entries, before):
                entry.outcome = _together(old, entry.outcome, attempt)
                entry.answered = self._tick
            done = {entry.outcome for entry in unit.entries}
            if unit.style in {"rollback", "leaves"} or attempt >= ATTEMPTS:
                return
            if done == {OK} or unit.style == "savepoint":
                if not (identified and unit.twice and not once_ok and done == {OK}):
                    return
                once_ok = True
            elif (
                not unit.again
                or (UNKNOWN in done and not identified)
                or (OK in done and not identified)
            ):
                return
            yield Pause(0.5 * attempt)

    # ------------------------------------------------------------------ styles
    def _autocommit(self, unit: Unit) -> Work[None]:
        """Each call commits by itself."""
        for entries, sql, pause in self._steps(unit):
            if pause:
                yield Pause(min(pause, 5.0))
            said = yield from self._ask(sql)
            _tell(entries, OK if said.clean else FAILED if _refused(said) else UNKNOWN)
            if not said.clean:
                yield from self._settles(said)

    def _one_batch(self, unit: Unit) -> Work[None]:
        """BEGIN to COMMIT in one round trip; nothing of it survives an error."""
        calls = " ".join(sql for _, sql, _ in self._steps(unit))
        if self.client.xact_abort:
            sql = f"BEGIN TRANSACTION; {calls} COMMIT TRANSACTION;"
        else:
            sql = (
                f"BEGIN TRY BEGIN TRANSACTION; {calls} COMMIT TRANSACTION; END TRY "
                "BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; THROW; END CATCH;"
            )
        said = yield from self._ask(sql)
        _tell(unit.entries, OK if said.clean else FAILED if _refused(said) else UNKNOWN)
        if not said.clean:
            yield from self._settles(said)

    def _transaction(
        self,
        unit: Unit,
        begin: str = "BEGIN TRANSACTION;",
        depth: int = 1,
        commit: str = "COMMIT TRANSACTION;",
        goes_on: bool = False,
    ) -> Work[None]:
        """BEGIN, calls, COMMIT, each in a batch of its own."""
        sent = yield from self._sends(unit, begin, depth, goes_on)
        if sent:
            yield from self._commits(sent, depth, commit)

    def _nested(self, unit: Unit) -> Work[None]:
        yield from self._transaction(
            unit,
            "BEGIN TRANSACTION; BEGIN TRANSACTION;",
            2,
            "COMMIT TRANSACTION; COMMIT TRANSACTION;",
        )

    def _implicit(self, unit: Unit) -> Work[None]:
        yield from self._transaction(
            unit,
            "SET IMPLICIT_TRANSACTIONS ON; SELECT TOP (1) Id FROM dbo.Work;",
            1,
            "COMMIT TRANSACTION; SET IMPLICIT_TRANSACTIONS OFF;",
        )

    def _goes_on(self, unit: Unit) -> Work[None]:
        """An error of one call is taken note of, and the transaction committed without it."""
        yield from self._transaction(unit, goes_on=True)

    def _rollback(self, unit: Unit) -> Work[None]:
        if (yield from self._sends(unit)):
            said = yield from self._ask("ROLLBACK TRANSACTION;")
            if not said.clean:
                yield from self._settles(said)

    def _leaves(self, unit: Unit) -> Work[None]:
        """The connection is closed in the middle of the transaction."""
        if (yield from self._sends(unit)):
            yield from self._connects(again=True)

    def _savepoint(self, unit: Unit) -> Work[None]:
        """What was sent since the savepoint is taken back; the rest is committed."""
        half = (len(unit.entries) + 1) // 2
        first = Unit(
            unit.style,
            unit.way,
            unit.entries[:half],
            unit.messages[:half],
            unit.pauses[:half],
            False,
            False,
        )
        second = Unit(
            unit.style,
            unit.way,
            unit.entries[half:],
            unit.messages[half:],
            unit.pauses[half:],
            False,
            False,
        )
        sent = yield from self._sends(first)
        if not sent:
            return
        if second.entries:
            taken = yield from self._sends(second, "SAVE TRANSACTION half;", begun=True)
            if not taken:
                return
            said = yield from self._ask("ROLLBACK TRANSACTION half;")
            if not said.clean:
                yield from self._settles(said)
                return
        yield from self._commits(sent, 1, "COMMIT TRANSACTION;")

    # ------------------------------------------------------------------ steps of a transaction
    def _sends(
        self,
        unit: Unit,
        begin: str = "BEGIN TRANSACTION;",
        depth: int = 1,
        goes_on: bool = False,
        begun: bool = False,
    ) -> Work[list[Entry]]:
        """BEGIN and the calls; the entries that are in the transaction, none if it is over."""
        if self.client.level == "SNAPSHOT" and not begun:
            begin += " SELECT COUNT(*) FROM dbo.Work;"
        said = yield from self._ask(begin)
        if not said.clean:
            yield from self._settles(said)
            return []
        since, sent = said.now, list[Entry]()
        for entries, sql, pause in self._steps(unit):
            if pause:
                yield Pause(pause)
            said = yield from self._ask(sql)
            late = said.now - since > self.longest
            if said.clean and not late:
                sent += entries
                continue
            if goes_on and _refused(said) and not late:
                look = yield from self._ask("SELECT @@TRANCOUNT, XACT_STATE();")
                if look.clean and look.rows[-1] == (depth, 1):
                    continue
            yield from self._settles(said)
            return []
        if not sent and not begun:
            yield from self._settles(said)
        return sent

    def _commits(self, sent: list[Entry], depth: int, commit: str) -> Work[None]:
        said = yield from self._ask(
            f"IF @@TRANCOUNT <> {depth} THROW 50250, N'Not the transaction that was begun.', 1; "
            + commit
        )
        _tell(sent, OK if said.clean else FAILED if _refused(said) else UNKNOWN)
        if not said.clean:
            if 50250 in said.errors:
                self.journal.notes.append("its transaction had ended and nobody had told it")
            yield from self._settles(said)

    def _steps(self, unit: Unit) -> list[tuple[list[Entry], str, float]]:
        """What each call of the unit sends, its statement, the pause before it."""
        if unit.way in BATCHES:
            return (
                [(unit.entries, self.calls.of(unit.way, unit.messages), unit.pauses[0])]
                if unit.entries
                else []
            )
        return [
            ([entry], self.calls.of(unit.way, [message]), pause)
            for entry, message, pause in zip(unit.entries, unit.messages, unit.pauses)
        ]

    # ------------------------------------------------------------------ the connection
    def _ask(self, sql: str) -> Work[Said]:
        said = cast(Said, (yield Ask(sql)))
        self._tick, self._now = said.tick, said.now
        self.journal.errors.update(said.errors)
        return said

    def _settles(self, said: Said) -> Work[None]:
        """Nothing is left open on the connection; a new one if this one is gone."""
        for _ in range(10):
            if said.gone:
                break
            said = yield from self._ask(
                "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET IMPLICIT_TRANSACTIONS OFF; "
                "SELECT @@TRANCOUNT;"
            )
            if said.clean and said.rows[-1][0] == 0:
                return
        yield from self._connects(again=True)

    def _connects(self, again: bool = False) -> Work[None]:
        """A connection with this caller's options."""
        options = (
            f"SET XACT_ABORT {'ON' if self.client.xact_abort else 'OFF'}; "
            f"SET TRANSACTION ISOLATION LEVEL {self.client.level};"
        )
        if self.client.lock_timeout_ms >= 0:
            options += f" SET LOCK_TIMEOUT {self.client.lock_timeout_ms};"
        while True:
            if again:
                yield Renew()
            said = yield from self._ask(options + " SELECT @@SPID;")
            if said.clean:
                self.journal.session = str(said.rows[-1][0])
                return
            again = True
            yield Pause(1.0)


def _refused(said: Said) -> bool:
    """Whether the server itself said that it was not done."""
    return bool(said.errors) and not (said.gone or said.cancelled)


def _tell(entries: list[Entry], outcome: str) -> None:
    for entry in entries:
        entry.outcome = outcome


def _together(old: str, new: str, attempt: int) -> str:
    """What a caller knows after another attempt with the same message."""
    if attempt == 1 or old == FAILED:
        return new
    if OK in (old, new):
        return OK
    return UNKNOWN
