"""A machine that notes the statements it runs, for a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

from redial_broker.engine.inside import ATOMIC
from redial_broker.exec.machine import WHOLE, Machine
from redial_broker.instance.session import Session
from redial_lab.explore.stepping import by_statements

if TYPE_CHECKING:
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState

SHORT = 90
"""Characters of a statement in one line."""


@dataclass(frozen=True, slots=True)
class Place:
    """A statement."""

    module: str
    """Database.schema.name, "" in a client's batch or dynamic text; start and end: offsets in
    ``source``."""
    line: int
    start: int
    end: int
    source: str = field(repr=False)
    dynamic: bool = False
    """The text of an EXECUTE or sp_executesql."""

    @property
    def text(self) -> str:
        """The statement in one line."""
        return " ".join(self.source[self.start : self.end].split())

    def __str__(self) -> str:
        """Module, line and the beginning of the statement."""
        name = self.module.rpartition(".")[2] or ("dynamic text" if self.dynamic else "batch")
        return f"{name} line {self.line}: {self.text[:SHORT]}"


class Noted(NamedTuple):
    """A statement that a session has run."""

    session: Session
    place: Place
    shared: bool
    waited: bool
    left: bool
    """shared, waited, left: as ``Statement`` has them."""


class TracingMachine(Machine):
    """A machine that notes every statement it runs. Runs what ``Machine`` would run."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.finished)
        self.noted: list[Noted] = []

    def run(
        self,
        session: SessionState,
        budget: int = 1_000_000,
        *,
        single: int = WHOLE,
        acted: int = ATOMIC,
    ) -> str:
        """As ``Machine.run``, one statement at a time."""
        before = len(self.noted)

        def look(_: Frame, shared: bool) -> None:
            place = place_of(session)
            if place is not None:
                self.noted.append(Noted(cast(Session, session), place, shared, False, False))

        status = by_statements(super().run, session, budget, look, single=single, acted=acted)
        if len(self.noted) > before:  # only the last one can be waiting, or be left
            waits = session.wait is not None
            left = session.to_be_run_again and not waits
            self.noted[-1] = self.noted[-1]._replace(waited=waits, left=left)
        return status


def place_of(session: SessionState) -> Place | None:
    """The statement a session is at; None where it has none."""
    frame = session.frames[-1]
    program = frame.program
    info = program.infos[frame.pc]
    if info.node is None:
        return None
    return Place(
        program.full_name if program.name else "",
        info.line,
        info.node.pos,
        info.node.end,
        program.source.text,
        dynamic=not program.name and len(session.frames) > 1,
    )
