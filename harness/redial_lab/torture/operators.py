"""Operators: sessions of an administrator that work through a list of batches."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from redial.config import Config
from redial.render.quoting import quote_name
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_broker.instance.session import Session
from redial_lab.torture.nemesis import Kind, Place, Step
from redial_lab.torture.stage import DATABASE, deploy_steps

if TYPE_CHECKING:
    from redial_lab.torture.trial import Trial

PATIENCE = 400.0
"""Seconds an operator waits for one batch."""


def operator_steps(trial: Trial, kind: Kind, place: Place) -> list[Step]:
    """The batches of a kind, led by a USE where another database is meant."""
    steps = kind.script(place) if kind.script is not None else []
    if steps and kind.target and place.config.target.database:
        steps = [f"USE {quote_name(place.config.target.database)};", *steps]
    if kind.redeploy:
        steps = [*steps, *_deployment(trial, kind.redeploy, place.pick)]
    return steps


def _deployment(trial: Trial, how: str, pick: int) -> list[Step]:
    """The same choices again, or others that callers do not notice."""
    data = deepcopy(trial.plan.config)
    if how == "changed":
        data["target"]["receive_batch"] = 2 + pick % 50
        data["timer"]["retry_seconds"] = 5 + pick % 5
    try:
        config = Config.model_validate(data)
    except ValueError:
        config = trial.stage.config
    found: list[Step] = []
    last = DATABASE
    for database, sql in deploy_steps(config, trial.plan.mutant):
        if database != last:
            found.append(f"USE {quote_name(database)};")
            last = database
        found.append(sql)
    return found


class Operator:
    """One session and what is left to do. redeploys: it leaves at the first error."""

    def __init__(self, trial: Trial, name: str, steps: list[Step], redeploys: str = "") -> None:
        self.trial, self.name, self.redeploys = trial, name, redeploys
        self._steps = list(steps)
        self.session: Session | None = trial.stage.instance.connect(DATABASE)
        self.due = trial.now()
        self._busy = False
        if redeploys:
            trial.deploy_again = True

    @property
    def done(self) -> bool:
        """Whether it has gone."""
        return self.session is None

    def serve(self, now: float) -> bool:
        """Go on with the next batch if the last one is over; whether anything happened."""
        session = self.session
        if session is None:
            return False
        if self.trial.stage.instance.sessions.get(session.id) is not session:
            self.session = None
            return True
        if self._busy:
            if not session.sink.finished:
                if now < self.due:
                    return False
                session.attention()
            self._busy, self.due = False, now
            errors = [message.number for message in session.sink.errors]
            if errors:
                self.trial.tells(self.name, f"-- {errors} {session.sink.errors[0].text}")
            if errors and self.redeploys:
                self._steps.clear()
        if now < self.due:
            return False
        self._next(session, now)
        return True

    def _next(self, session: Session, now: float) -> None:
        if not self._steps:
            session.close()
            self.session = None
            return
        step = self._steps.pop(0)
        if isinstance(step, float):
            self.due = now + step
            return
        self.trial.tells(self.name, step)
        session.sink = Collector()
        self._busy, self.due = True, now + PATIENCE
        session.submit(Batch(step))
