"""One trial on the embedded broker: all in this process, on a virtual clock, sessions in turn.

The same plan is the same run, statement by statement. Time passes a little while anybody works,
and as far as the next thing that is due when nobody can.
"""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import cast

from redial_broker.engine.clock import VirtualClock
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_broker.instance.session import Session
from redial_lab.torture.caller import Ask, Caller, Pause, Said
from redial_lab.torture.caller_journal import Journal, Row
from redial_lab.torture.calls import LOGIN
from redial_lab.torture.journal_verdict import Finding, Verdict, judge
from redial_lab.torture.nemesis import CANCEL, KINDS, READER, SENDER, Place
from redial_lab.torture.operators import Operator, operator_steps
from redial_lab.torture.plan import Event, Plan
from redial_lab.torture.settling import RestlessError, comes_to_rest
from redial_lab.torture.stage import DATABASE, Stage, stage_of
from redial_lab.torture.what_landed import Evidence, collect

STATEMENT_SECONDS = 0.0003
"""What a statement takes on the virtual clock."""

QUANTA = (1, 1, 2, 3, 8, 25)
"""Statements a session may run before the next one has its turn."""


@dataclass
class Outcome:
    """What a trial came to."""

    plan: Plan
    journals: list[Journal]
    evidence: Evidence
    verdict: Verdict
    struck: Counter[str]
    """Events that had somebody to strike, by kind."""
    told: list[tuple[float, str, str]] = field(default_factory=list)
    """(time, who, what) of everything that was asked, if it was to be kept."""
    seconds: float = 0.0


class Seat:
    """Where a caller sits: its program, its session, and what it waits for."""

    def __init__(self, trial: Trial, caller: Caller) -> None:
        self.trial, self.caller = trial, caller
        self.who = f"client {caller.client.number}"
        self.session: Session | None = None
        self.wake: float | None = 0.0
        self.asked: float | None = None
        self.cancelled = self.done = False
        self._work = caller.work()
        self._answer: Said | None = None

    @property
    def here(self) -> bool:
        """Whether its connection is still there."""
        session = self.session
        return session is not None and self.trial.stage.instance.sessions.get(session.id) is session

    @property
    def busy(self) -> bool:
        """Whether the server works for it, or keeps it waiting."""
        return self.asked is not None

    def cancel(self) -> None:
        """The caller cancels what it has asked."""
        if self.busy and self.here and self.session is not None:
            self.cancelled = True
            self.session.attention()

    def serve(self) -> bool:
        """Take the answer if there is one, and go on; whether anything happened."""
        now = self.trial.now()
        if self.done:
            return False
        if self.busy:
            assert self.session is not None
            if self.here and not self.session.sink.finished:
                return False
            self._answer = self._heard()
            self.asked = None
        elif self.wake is None or self.wake > now:
            return False
        self._goes_on()
        return True

    def _goes_on(self) -> None:
        """Until it asks the server something, thinks, or has done its work."""
        self.wake = None
        while True:
            try:
                wish = self._work.send(self._answer)
            except StopIteration:
                self.done = True
                self._leave()
                return
            self._answer = None
            if isinstance(wish, Pause):
                self.wake = self.trial.now() + wish.seconds
                return
            if isinstance(wish, Ask):
                if self._asks(wish.sql):
                    return
                self._answer = self._said([], gone=True)
            else:
                self._leave()

    def _asks(self, sql: str) -> bool:
        """Whether there was a connection to ask on."""
        if self.session is None:
            self.session = self.trial.stage.login()
        self.trial.tells(self.who, sql)
        if not self.here or self.session is None:
            return False
        self.session.sink = Collector()
        self.asked = self.trial.now()
        self.session.submit(Batch(sql))
        return True

    def _heard(self) -> Said:
        assert self.session is not None
        out = self.session.sink
        rows = [tuple(row) for found in out.result_sets for row in found.rows]
        errors = tuple(message.number for message in out.errors)
        cancelled, self.cancelled = self.cancelled, False
        return self._said(rows, errors, not self.here, cancelled)

    def _said(
        self,
        rows: list[Row],
        errors: tuple[int, ...] = (),
        gone: bool = False,
        cancelled: bool = False,
    ) -> Said:
        now, tick = self.trial.now(), self.trial.next_tick()
        said = Said(rows, errors, gone, cancelled, now, tick)
        if not said.clean:
            self.trial.tells(
                self.who,
                f"-- {list(said.errors) or ''}"
                f"{' connection gone' if said.gone else ''}"
                f"{' cancelled' if said.cancelled else ''}",
            )
        return said

    def _leave(self) -> None:
        if self.here and self.session is not None:
            self.session.close()
        self.session = None


@dataclass
class _Armed:
    """An event that is due."""

    left: int
    """Statements of anybody's until it strikes."""
    event: Event


class Trial:
    """A plan being run. record: keep what everybody asked."""

    def __init__(self, plan: Plan, record: bool = False) -> None:
        self.plan, self.record = plan, record
        self.stage: Stage = stage_of(plan)
        self.draw = Random(f"{plan.seed}/turns")
        self.clock = cast(VirtualClock, self.stage.instance.clock)  # an instance's default
        self.began = self.clock.now()
        self.told: list[tuple[float, str, str]] = []
        self.struck: Counter[str] = Counter()
        self.operators: list[Operator] = []
        self.deploy_again = False
        self.switched_off = 0
        self._tick = 0
        callers = [
            Caller(plan, client, self.stage.calls, self.stage.hooked) for client in plan.clients
        ]
        self.seats = [Seat(self, caller) for caller in callers]
        self.patience = 60 + 2 * callers[0].longest if callers else 60.0
        self._events = list(plan.events)
        self._armed: list[_Armed] = []

    def run(self) -> Outcome:
        """Everything, to the verdict."""
        while not all(seat.done for seat in self.seats):
            self._moment()
        worked = self.now()
        try:
            problems = comes_to_rest(self)
        except RestlessError as restless:  # nobody can be asked anything: they would wait too
            return self._outcome(Evidence(), Verdict([Finding("no rest", str(restless))]), worked)
        evidence = collect(self.stage.config, self.ask, LOGIN)
        if self.plan.switches.get("poison_reset") != "never":
            evidence.switched_off = self.switched_off  # else any five rollbacks do it (F-118)
        verdict = judge(
            self.stage.config,
            [seat.caller.journal for seat in self.seats],
            evidence,
            mutant=bool(self.plan.mutant),
        )
        verdict.findings += [Finding("no rest", problem) for problem in problems]
        verdict.findings += [
            Finding("broker broke", f"{where}: {text}")
            for where, text in self.stage.instance.defects.found
        ]
        return self._outcome(evidence, verdict, worked)

    def _outcome(self, evidence: Evidence, verdict: Verdict, worked: float) -> Outcome:
        return Outcome(
            self.plan,
            [seat.caller.journal for seat in self.seats],
            evidence,
            verdict,
            self.struck,
            self.told,
            worked,
        )

    # ------------------------------------------------------------------ for all who take part
    def now(self) -> float:
        """Seconds since the trial began."""
        return self.clock.now() - self.began

    def next_tick(self) -> float:
        """A number above all before it."""
        self._tick += 1
        return float(self._tick)

    def tells(self, who: str, what: str) -> None:
        """For the story."""
        if self.record:
            self.told.append((self.now(), who, what))

    def ask(self, sql: str, database: str = "") -> list[Row]:
        """The administrator's query, when everything is at rest. Raises AssertionError."""
        return self.stage.run(database or DATABASE, sql)

    # ------------------------------------------------------------------ turns
    def _moment(self) -> None:
        """A few statements of everybody who can go on; else time passes."""
        moved = False
        for seat in self.seats:
            moved |= seat.serve()
        for operator in self.operators:
            moved |= operator.serve(self.now())
        self.operators = [one for one in self.operators if not one.done]
        while self._events and self._events[0].at <= self.now():
            event = self._events.pop(0)
            self._armed.append(_Armed(event.after, event))
        if not self._pump() and not moved:
            self._time_passes()

    def _pump(self) -> bool:
        """Run statements, fewer where an event is about to strike; whether there are more."""
        instance = self.stage.instance
        count = self.draw.randint(1, 40)
        soonest = min((armed.left for armed in self._armed), default=count)
        instance.quantum = min(self.draw.choice(QUANTA), max(1, soonest))
        steps = max(1, min(count, soonest))
        more = instance.pump(steps)
        self.clock.advance(steps * STATEMENT_SECONDS)
        for armed in self._armed:
            armed.left -= steps
        due = [armed.event for armed in self._armed if armed.left <= 0]
        self._armed = [armed for armed in self._armed if armed.left > 0]
        for event in due:
            self._strike(event)
        return more or bool(due)

    def _time_passes(self) -> None:
        """To the next thing that is due: a timer, a caller's or an operator's, an event."""
        now = self.now()
        due = [seat.wake for seat in self.seats if seat.wake is not None and not seat.done]
        due += [seat.asked + self.patience for seat in self.seats if seat.asked is not None]
        due += [event.at for event in self._events[:1]]
        due += [one.due for one in self.operators]
        timer = self.stage.instance.next_due()
        if timer is not None:
            due.append(now + timer)
        self.clock.advance(max(0.0, min(due) - now) if due else 1.0)
        for seat in self.seats:
            if seat.asked is not None and self.now() - seat.asked >= self.patience:
                seat.cancel()

    # ------------------------------------------------------------------ trouble
    def _strike(self, event: Event) -> None:
        kind = KINDS[event.kind]
        if kind.strike is None:
            place = Place(self.stage.config, event.pick, self.stage.files)
            steps = operator_steps(self, kind, place)
            if steps:
                self.operators.append(Operator(self, event.kind, steps, kind.redeploy))
                self.struck[event.kind] += 1
            return
        what, whom = kind.strike
        victims = self._victims(whom)
        if what == CANCEL:
            seats = [seat for seat in self.seats if seat.busy and seat.here]
            if seats:
                seat = seats[event.pick % len(seats)]
                self.tells("nemesis", f"{seat.who} cancels")
                self.struck[event.kind] += 1
                seat.cancel()
        elif victims:
            victim = victims[event.pick % len(victims)]
            self.tells("nemesis", f"KILL {victim.id} ({whom})")
            self.struck[event.kind] += 1
            self.stage.instance.kill(victim.id)

    def _victims(self, whom: str) -> list[Session]:
        """Whom a KILL may strike: at work, or with something open; not one that is gone already."""
        there = self.stage.instance.sessions
        if whom == SENDER:
            found = [seat.session for seat in self.seats if seat.here and seat.session]
            found = [s for s in found if s.active or s.transaction is not None]
        elif whom == READER:
            found = [s for _, s in sorted(there.items()) if s.background and s.queue is not None]
        else:
            found = [one.session for one in self.operators if one.session is not None]
        return [s for s in found if there.get(s.id) is s]


def run(plan: Plan, record: bool = False) -> Outcome:
    """One trial, to its verdict. Garbage is collected afterwards: a trial makes little of it, and
    looking for it takes a third of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return Trial(plan, record).run()
    finally:
        if collecting:
            gc.enable()
