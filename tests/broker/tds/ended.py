"""What clients leave behind, once the broker has heard of their ends."""

from __future__ import annotations

from redial_broker import EmbeddedBroker

LOOKS = 10_000


def becomes(broker: EmbeddedBroker, count: int) -> bool:
    """Whether the instance comes to have so many clients: each look lets the server's loop read
    what its sockets have to say, so no time has to pass.
    """
    for _ in range(LOOKS):
        broker.settle()
        if broker.call(lambda instance: sum(n > 50 for n in instance.sessions)) == count:
            return True
    return False


def left_behind(broker: EmbeddedBroker) -> tuple[int, int]:
    """Sessions and locks, when every client has closed its connection."""
    becomes(broker, 0)
    return broker.call(
        lambda instance: (len(instance.sessions), len(instance.engine.locks.resources))
    )
