"""Where a step leads, known from an earlier time when it found everything as it finds it now.

What a step changes follows from what it reads, as the rest of its reads does (``known``). So what
it did to the digests of the state's parts is kept with its reads, by the digests it found there:
one that would lead to a state already searched need not be taken. A step that adds or ends a
conversation or a session always is.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from hashlib import blake2b
from struct import pack
from typing import NamedTuple

from redial_lab.explore.diverged import Diverged
from redial_lab.explore.world import World

KEPT = 400_000
"""So many changes of digests are kept; then they are forgotten, with the reads they hang on."""


class Digests(NamedTuple):
    """A state as it is compared."""

    parts: list[bytes]
    """Digests of all but the locks, in a fixed order."""
    locks: int
    """The sum of theirs, for they come and go."""
    layout: Hashable
    """Which parts stand there, and what is left of the budgets, which decides whose steps there are
    besides the sessions'."""

    def key(self) -> bytes:
        """The word of the state."""
        found = blake2b(b"".join(self.parts), digest_size=16)
        found.update(pack("<Q", self.locks & 0xFFFFFFFFFFFFFFFF))
        return found.digest()


class Place(NamedTuple):
    """What a step does in one layout."""

    disabled: int
    """Actors whose step it makes impossible."""
    positions: tuple[int, ...]
    """Of the parts it changes."""
    changes: dict[tuple[bytes, ...], tuple[bytes, ...]]
    """Their digests afterwards, by those before."""


@dataclass(slots=True)
class Effect:
    """What a step does where it reads what it read."""

    step: int
    """Its number (``Futures.step``)."""
    visible: bool
    """It changes what the checks of every state look at."""
    locks: int | None = None
    """What it adds to the sum of theirs, None until that was seen."""
    places: dict[Hashable, Place] = field(default_factory=dict)

    def leads_to(self, before: Digests) -> Digests | None:
        """The state it leads to; None when that is not known."""
        place = self.places.get(before.layout)
        if place is None:
            return None
        parts = before.parts
        after = place.changes.get(tuple([parts[n] for n in place.positions]))
        if after is None:
            return None
        parts = parts[:]
        for position, digest in zip(place.positions, after):
            parts[position] = digest
        # Seen when the place was kept; a cast would cost here, where a step is not even taken.
        return Digests(parts, before.locks + self.locks, before.layout)  # type: ignore[operator]

    def keep(self, disabled: int, before: Digests, after: Digests) -> None:
        """Remember where it led; into another layout, only what it made impossible. Raises
        Diverged when it did otherwise than before.
        """
        locks = after.locks - before.locks
        if self.locks is None:
            self.locks = locks
        elif self.locks != locks:
            raise Diverged(f"step {self.step}: locks change otherwise after the same reads")
        if before.layout != after.layout:
            self.places[before.layout] = Place(disabled, (), {})
            return
        pairs = enumerate(zip(before.parts, after.parts))
        found = tuple([n for n, (old, new) in pairs if old != new])
        place = self.places.get(before.layout)
        if place is None or not set(found) <= set(place.positions):
            place = self.places[before.layout] = Place(disabled, found, {})
        positions = place.positions
        place.changes[tuple([before.parts[n] for n in positions])] = tuple(
            [after.parts[n] for n in positions]
        )


def digests(world: World) -> Digests:
    """A world as it stands."""
    instance = world.instance
    locks = instance.engine.locks
    parts = [part.digest or part.hash() for part in world.parts() if part is not locks]
    parts.append(pack("<Q", locks.deadlocks))
    total = sum(
        [
            int.from_bytes(resource.digest or resource.hash(), "little")
            for resource in locks.resources.values()
        ]
    )
    registry, progress = instance.registry, world.progress
    layout = [registry.digest or registry.hash(), progress.firings, progress.left, progress.fired]
    for database in instance.server.databases.values():
        layout.append(database.schema_version)
        broker = database.broker
        if broker is not None:
            layout.append(broker.digest or broker.hash())
    return Digests(parts, total, tuple(layout))
