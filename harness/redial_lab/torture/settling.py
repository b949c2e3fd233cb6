"""The end of a trial: the nemesis stops, everything is on, and time passes until nothing moves.

What runs by itself, and the jobs the documents name; nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.config.choices import Recycle
from redial.render.quoting import literal, quote_name
from redial_lab.torture.journal_verdict import LONGEST
from redial_lab.torture.nemesis import Place
from redial_lab.torture.operators import Operator
from redial_lab.torture.stage import DATABASE, deploy_steps

if TYPE_CHECKING:
    from redial_lab.torture.trial import Trial

MOST = 5_000_000
"""Statements without any time passing, after which a trial is said not to come to rest."""

ROUNDS = 40
"""How often a queue that switches itself off is switched on again."""


class RestlessError(RuntimeError):
    """Work goes on without any time passing; the text says since when."""


def comes_to_rest(trial: Trial) -> list[str]:
    """Bring the trial to rest; what failed, in words. Raises RestlessError."""
    problems: list[str] = []
    trial.stage.instance.quantum = 50
    for operator in trial.operators:
        if operator.session is not None:
            trial.stage.instance.disconnect(operator.session)
    trial.operators.clear()
    place = Place(trial.stage.config, 0, trial.stage.files)
    trial.tells("rest", "-- everything is on again")
    problems += _everything_on(trial, place)
    _stays_on(trial, place)
    age = _age(trial)
    lifetime = trial.stage.config.conversation.lifetime_seconds or 0
    beyond = lifetime if lifetime < LONGEST else 0
    for seconds in (2 * age, 2 * age, beyond + 2 * age):
        _wait(trial, seconds)
        _stays_on(trial, place)  # what came again in that time may have switched a queue off
        problems += _jobs(trial, place)
    _wait(trial, 2 * age)
    _stays_on(trial, place)
    return problems


def _age(trial: Trial) -> float:
    """Seconds in which every dialog is replaced and has ended, retries included."""
    config = trial.stage.config
    timer = config.timer
    seconds = timer.after_seconds + timer.spread_seconds + 4 * timer.retry_seconds + 60.0
    if config.conversation.recycle == Recycle.AGED_OUT:
        seconds = max(seconds, config.aged_out.idle_seconds + 60.0)
    return seconds


def _wait(trial: Trial, seconds: float) -> None:
    """Let time pass, stopping at every timer. Raises RestlessError."""
    clock, timers = trial.clock, trial.stage.instance.engine.timers
    end = clock.now() + seconds
    _settle(trial)
    while (due := timers.next_due()) is not None and due <= end:
        clock.advance(max(0.0, due - clock.now()))
        _settle(trial)
    clock.advance(end - clock.now())
    _settle(trial)


def _settle(trial: Trial) -> None:
    """Run what can run at once. Raises RestlessError."""
    left = MOST
    while trial.stage.instance.pump(10_000):
        left -= 10_000
        if left <= 0:
            raise RestlessError(f"{MOST:,} statements at {trial.now():.0f} s, and no end")


def _everything_on(trial: Trial, place: Place) -> list[str]:
    config = place.config
    found = []
    for name in trial.stage.databases:
        found += _does(
            trial,
            "master",
            "IF EXISTS (SELECT 1 FROM sys.databases WHERE name = "
            f"N'{name}' AND is_broker_enabled = 0) ALTER DATABASE {quote_name(name)} "
            "SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;",
        )
    for side, database in _queues(place):
        queue = place.own(getattr(config.queues, side))
        # Off and on: what usp_Health says where a reader was killed before its RECEIVE (F-255).
        for setting in ("ACTIVATION (STATUS = OFF)", "STATUS = ON, ACTIVATION (STATUS = ON)"):
            found += _does(trial, database, f"ALTER QUEUE {queue} WITH {setting};")
    if trial.deploy_again:
        for database, sql in deploy_steps(config, trial.plan.mutant):
            problems = _does(trial, database, sql)
            if problems:
                return [*found, *problems]
    if place.installed("usp_OpenGate"):
        found += _does(trial, DATABASE, f"EXECUTE {place.own('usp_OpenGate')} @reason = N'rest';")
    return found


def _stays_on(trial: Trial, place: Place) -> None:
    """Switch on again what has switched itself off; how often is counted."""
    for _ in range(ROUNDS):
        _wait(trial, 30)
        off = [
            (side, database)
            for side, database in _queues(place)
            if trial.ask(
                "SELECT 1 FROM sys.service_queues WHERE is_receive_enabled = 0 AND name = "
                f"{literal(getattr(place.config.queues, side))};",
                database,
            )
        ]
        if not off:
            return
        trial.switched_off += len(off)
        for side, database in off:
            _does(
                trial,
                database,
                f"ALTER QUEUE {place.own(getattr(place.config.queues, side))} WITH STATUS = ON;",
            )


def _queues(place: Place) -> list[tuple[str, str]]:
    """(side, database)"""
    return [("initiator", DATABASE), ("target", place.config.target.database or DATABASE)]


def _jobs(trial: Trial, place: Place) -> list[str]:
    """What an operator's calendar holds."""
    found = []
    for name, arguments in (
        ("usp_ResendStranded", ""),
        ("usp_RetireIdle", "@WhatIf = 0"),
        ("usp_EndLeaked", "@reason = N'torture', @WhatIf = 0"),
    ):
        if place.installed(name):
            found += _does(trial, DATABASE, f"EXECUTE {place.own(name)} {arguments};")
    target = place.config.target.database
    if target:
        found += _does(
            trial,
            target,
            f"IF OBJECT_ID(N'{place.own('usp_EndLeaked')}') IS NOT NULL "
            f"EXECUTE {place.own('usp_EndLeaked')} @reason = N'torture', @WhatIf = 0;",
        )
    return found


def _does(trial: Trial, database: str, sql: str) -> list[str]:
    """A batch that must succeed, however long it takes; the error in words."""
    operator = Operator(trial, "rest", [f"USE {quote_name(database)};", sql])
    session = operator.session
    assert session is not None
    problems = []
    while not operator.done:
        operator.serve(trial.now())
        if operator.session is None:
            break
        _settle(trial)
        sink = session.sink
        if not sink.finished:
            _wait(trial, 1)
        elif sink.errors:
            problems = [f"{sink.errors[0].number}: {sink.errors[0].text} ({sql[:100]})"]
    return problems
