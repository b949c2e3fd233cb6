"""Two sessions on one dialog: S sends, E ends the target's side, and either may be still open."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.engine.switches import SWITCHES
from tests.broker.ssb.world import World

FORMS = ("end", "end_error", "cleanup")
VALUES = SWITCHES["end_over_open_send"].values


@dataclass
class Race:
    """A dialog both sides of which are there, a sender and somebody who ends the target's side."""

    switches: dict = field(default_factory=dict)
    lifetime: int | None = None

    def __post_init__(self) -> None:
        self.world = World(**self.switches)
        self.s, self.e, self.reader = (self.world.session() for _ in range(3))
        self.handle = self.s.dialog(lifetime=self.lifetime)
        self.s.send(self.handle, b"0")
        self.target = self.world.target(self.handle)
        assert self.reader.bodies() == [b"0"]

    def ends(self, form: str = "end") -> None:
        getattr(self.e, form)(self.target)

    def told(self) -> list[str]:
        """What the initiator's queue says, as far as anybody can receive it."""
        return [row[1] for row in self.reader.take("IQ")]

    @property
    def pending(self) -> list[bytes]:
        return self.world.pending(self.handle)

    def at_rest(self) -> None:
        assert self.world.engine.locks.resources == {}
        assert self.s.wait is None and self.e.wait is None


def race(lifetime: int | None = None, **switches) -> Race:
    return Race(switches, lifetime)


def number(of) -> int:
    with pytest.raises(SqlError) as caught:
        of()
    return caught.value.number
