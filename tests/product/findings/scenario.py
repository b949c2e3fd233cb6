"""A finding's scenario: how its fault is made, what is found, and how it is mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redial.config import Config
from tests.product.deploy.by_hand import Site
from tests.product.sql.lab import AUDIT, Client, Lab, send

Step = str | Callable[[Lab], object]
"""T-SQL that an administrator runs, or what a test does."""
OPS = (
    "CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops; "
    "CREATE USER owner WITHOUT LOGIN; ALTER ROLE db_owner ADD MEMBER owner;"
)
AS = {"a member of audit_operator": "ops", "a member of db_owner": "owner"}
"""Who runs a statement, by who may; others are administrators."""


def sent(*bodies: str) -> Callable[[Lab], object]:
    """A client that sends."""

    def send_them(lab: Lab) -> None:
        client = Client(lab)
        for body in bodies:
            client.execute(send(body))

    return send_them


FIRST = sent("0x01")


class Row(NamedTuple):
    """A line of the report."""

    priority: int
    finding: str
    object: str | None
    figure: str | None
    advice: str
    statement: str | None
    who: str
    id: str
    page: str


@dataclass(frozen=True)
class Scenario:
    """What makes one finding appear and go."""

    fault: Step
    after: float = 0
    """Virtual seconds behind the fault before it is found."""
    begins: Step = FIRST
    """A message that is sent first."""
    before: Step = ""
    """What there is before: a state that has nothing of it yet."""
    mend: Step | None = None
    """Who reads the advice does this; None: what stands in Statement, or a deployment where the advice
    says so."""
    first: Step = ""
    """What must be mended before, as the advice says."""
    also: frozenset[str] = frozenset()
    """Ids of what is wrong with it at the same time."""
    stays: frozenset[str] = frozenset()
    """Ids of what comes behind the mend and is no fault of it: errors that were logged, say."""
    rest: float = 5
    """Virtual seconds behind the mend before it is gone."""
    config: Config = AUDIT
    switches: dict[str, Any] = field(default_factory=dict)
    """Of the embedded broker."""


def do(lab: Lab, step: Step, user: str = "") -> None:
    """Run a step; an administrator does where no user is named."""
    if callable(step):
        step(lab)
    elif step and user:
        lab.sa.execute(f"EXECUTE AS USER = N'{user}'; {step} REVERT;")
    elif step:
        lab.sa.execute(step)


def report(lab: Lab) -> list[Row]:
    """What usp_Health says."""
    return [Row(*row) for row in lab.rows("EXECUTE audit.usp_Health;")]


def ids(lab: Lab) -> set[str]:
    """Of what is wrong: figures and remarks are not."""
    return {row.id for row in report(lab) if row.priority < 150}


def deploy(lab: Lab) -> None:
    """As redial deploy does it. Nobody else is there: it would wait for a session in the way."""
    lab.instance.disconnect(lab.sa.session)
    assert Site(lab).deploy()
    lab.sa = Client(lab)


def steps(*several: Step) -> Callable[[Lab], object]:
    """One behind the other; a number of seconds is a pause of virtual time."""

    def all_of_them(lab: Lab) -> None:
        for step in several:
            do(lab, step)

    return all_of_them


def edited(name: str, old: str, new: str) -> Callable[[Lab], object]:
    """Change a text in an installed module: what only a server with a million rows would show."""

    def edit(lab: Lab) -> None:
        ((text,),) = lab.rows(f"SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.{name}'));")
        assert text.count(old) == 1, text.count(old)
        lab.sa.execute(text.replace("CREATE ", "CREATE OR ALTER ", 1).replace(old, new))

    return edit


def wait(seconds: float) -> Callable[[Lab], object]:
    """Let virtual time pass."""
    return lambda lab: lab.advance(seconds)
