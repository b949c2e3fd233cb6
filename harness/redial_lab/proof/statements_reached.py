"""Which statements of which procedures a search ran.

A mutant whose changed place is in a statement that no order of steps of a case reaches changes
nothing there: that case need not be searched for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redial_broker.instance.instance import Instance
from redial_lab.explore.heat import CountingMachine


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


class Watch:
    """Notes what an instance runs from now on."""

    def __init__(self, instance: Instance) -> None:
        self.machine = instance.machine = CountingMachine(instance.machine)

    def reached(self) -> Mapping[str, Reached]:
        """Every module that was called, by name without schema; where a name was compiled anew,
        what ran of any of its programs.
        """
        found: dict[str, Reached] = {}
        for program in self.machine.programs.values():
            ran: dict[tuple[int, int], bool] = {}
            taken = self.machine.taken(program)
            for pc, info in enumerate(program.infos):
                if info.node is not None:
                    place = (info.node.pos, info.node.end)
                    ran[place] = ran.get(place, False) or pc in taken
            known = found.get(program.name)
            if known is not None and known.source == program.source.text:
                for first, last, before in known.places:
                    ran[first, last] = ran.get((first, last), False) or before
            found[program.name] = Reached(
                program.source.text, tuple((*place, done) for place, done in ran.items())
            )
        return found
