"""Which statements of which procedures a search ran.

A mutant whose changed place is in a statement that no order of steps of a case reaches changes
nothing there: that case need not be searched for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from redial_broker.exec.machine import Machine
from redial_broker.exec.program import Frame, Program
from redial_broker.instance.instance import Instance

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


@dataclass(frozen=True, slots=True)
class Reached:
    """A procedure that was called."""

    source: str
    """Its text."""
    places: tuple[tuple[int, int, bool], ...]
    """(start, end, whether it ran) of its statements, a condition counted with all that depends on
    it."""

    def ran(self, text: str, start: int, end: int) -> bool:
        """Whether a change of text[start:end] can be noticed: the smallest statement around it
        ran. True where that cannot be told.
        """
        if text != self.source:
            return True
        around = [
            (last - first, ran)
            for first, last, ran in self.places
            if first <= start and end <= last
        ]
        smallest = min((size for size, _ in around), default=0)
        return not around or any(ran for size, ran in around if size == smallest)


class _Noted(list):  # type: ignore[type-arg]  # list[Step] would be other code to `sources`
    """The code of a program; notes which of its steps are taken."""

    __slots__ = ("taken",)

    def __init__(self, code: list[Any]) -> None:  # a program's steps
        super().__init__(code)
        self.taken: set[int] = set()

    def __getitem__(self, pc: Any) -> Any:  # as of any list: a number or a slice
        self.taken.add(pc)
        return list.__getitem__(self, pc)


class _NotingMachine(Machine):
    """Runs what ``Machine`` would run, and knows every program that was called."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.finished)
        self.programs: dict[int, Program] = {}

    def call(  # more, values: as ``Machine`` has them
        self, session: SessionState, program: Program, values: list[Any], **more: Any
    ) -> Frame:
        if program.object_id and not isinstance(program.code, _Noted):
            program.code = _Noted(program.code)
            self.programs[id(program)] = program
        return super().call(session, program, values, **more)


class Watch:
    """Notes what an instance runs from now on."""

    def __init__(self, instance: Instance) -> None:
        self.machine = instance.machine = _NotingMachine(instance.machine)

    def reached(self) -> Mapping[str, Reached]:
        """Every module that was called, by name without schema; where a name was compiled anew,
        what ran of any of its programs.
        """
        found: dict[str, Reached] = {}
        for program in self.machine.programs.values():
            ran: dict[tuple[int, int], bool] = {}
            for pc, info in enumerate(program.infos):
                if info.node is not None:
                    place = (info.node.pos, info.node.end)
                    ran[place] = ran.get(place, False) or pc in cast(_Noted, program.code).taken
            known = found.get(program.name)
            if known is not None and known.source == program.source.text:
                for first, last, before in known.places:
                    ran[first, last] = ran.get((first, last), False) or before
            found[program.name] = Reached(
                program.source.text, tuple((*place, done) for place, done in ran.items())
            )
        return found
