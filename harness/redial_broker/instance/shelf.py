"""Instances made once and begun from many times.

An installation takes half a second, coming back to it a thousandth: the journal that takes back a
statement takes back all that was done since an instance was made. So what was lent and given back
serves the next who asks for the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from redial_broker.instance.snapshot import Snapshot

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance


class Lent:
    """An instance and the moment it comes back to."""

    def __init__(self, key: Hashable, instance: Instance) -> None:
        self.key = key
        """Equal only for what is made equal."""
        self.instance = instance
        instance.programs.clear()  # of the batches that made it, which nobody runs again
        self._moment = Snapshot(instance)
        self._plain = self._attributes()

    def come_back(self) -> bool:
        """Be as it was made; False when it is not, and must not be lent again.

        No journal knows an attribute that somebody set by hand: whoever did so puts it back first.
        Nobody knows what an instance is now that ever had a defect.
        """
        instance = self.instance
        if instance.searched or instance.defects.ever:
            return False
        self._moment.restore()
        return self._attributes() == self._plain

    def _attributes(self) -> dict[str, Any]:  # each attribute has a type of its own
        instance, engine = self.instance, self.instance.engine
        return dict(vars(instance)) | {
            "clock": engine.clock,
            "switches": dict(engine.switches),
            "on_deadlock": engine.locks.on_deadlock,
            "open": list(instance.sessions.values()),
        }


class Shelf:
    """What can be lent; of more than there is room for the one unused for longest goes."""

    def __init__(self, room: int) -> None:
        self.room = room
        """Instances that are kept."""
        self.free: OrderedDict[int, Lent] = OrderedDict()
        """By ``id``: there may be several of one key."""

    def take(self, key: Hashable, make: Callable[[], Instance]) -> Lent:
        """One of the key that was given back, or else what ``make`` makes."""
        found = next((one for one in self.free.values() if one.key == key), None)
        if found is None:
            return Lent(key, make())
        return self.free.pop(id(found))

    def give_back(self, one: Lent) -> None:
        """Nobody uses it any more."""
        if not one.come_back():
            return
        self.free[id(one)] = one
        while len(self.free) > self.room:
            self.free.popitem(last=False)
