"""Which statements of which modules a search ran, and how often: what nothing reached proves nothing.

A statement counts each time a session runs it, on whatever way the search took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from redial_broker.exec.machine import Machine
from redial_broker.exec.program import Frame, Program

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


class Heat(NamedTuple):
    """One statement of a module."""

    line: int
    text: str
    """Its beginning, on one line."""
    times: int


class _Counted(list):  # type: ignore[type-arg]  # as ``Program.code``
    """The code of a program; counts which of its steps are taken."""

    __slots__ = ("taken",)

    def __init__(self, code: list[Any]) -> None:  # a program's steps
        super().__init__(code)
        self.taken: Counter[int] = Counter()

    def __getitem__(self, pc: Any) -> Any:  # as of any list: a number or a slice
        self.taken[pc] += 1
        return list.__getitem__(self, pc)


class CountingMachine(Machine):
    """Runs what ``Machine`` would run, and counts every statement of every module."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.finished)
        self.real = machine
        self.programs: dict[int, Program] = {}

    def call(  # more, values: as ``Machine`` has them
        self, session: SessionState, program: Program, values: list[Any], **more: Any
    ) -> Frame:
        """Count the statements of a module from its first call on."""
        if program.object_id and id(program) not in self.programs:
            program.code = _Counted(program.code)
            self.programs[id(program)] = program
        return super().call(session, program, values, **more)

    def taken(self, program: Program) -> Counter[int]:
        """How often each statement of a program was met, by its counter."""
        return program.code.taken if isinstance(program.code, _Counted) else Counter()

    def heat(self) -> Mapping[str, Sequence[Heat]]:
        """Every module that was called, by its name."""
        found: dict[str, Sequence[Heat]] = {}
        for program in self.programs.values():
            found[program.full_name] = tuple(_statements(program, self.taken(program)))
        return found

    def close(self) -> None:
        """The programs are as they were."""
        for program in self.programs.values():
            program.code = list(program.code)


def _statements(program: Program, taken: Counter[int]) -> Iterator[Heat]:
    for pc, info in enumerate(program.infos):
        if info.node is not None:
            text = " ".join(program.source.text[info.node.pos : info.node.end].split())
            yield Heat(info.line, text[:80], taken[pc])


def heat_map(heat: Mapping[str, Sequence[Heat]]) -> Iterator[str]:
    """The map, line by line: how often each statement ran; those that never did stand out."""
    for name, statements in sorted(heat.items()):
        ran = sum(1 for one in statements if one.times)
        yield f"{name}: {ran} of {len(statements)} statements ran"
        for one in statements:
            yield f"  {one.times or 'never':>9}  line {one.line:<4} {one.text}"
