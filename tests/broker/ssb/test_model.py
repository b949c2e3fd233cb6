"""Random programs against a simple model: nothing lost, nothing twice, nothing out of order."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.engine.errors import SqlError
from tests.broker.ssb.world import Blocked, World

SESSIONS, DIALOGS = 2, 3

steps = st.lists(
    st.tuples(
        st.integers(0, SESSIONS - 1),
        st.sampled_from(
            [
                "begin",
                "begin",
                "begin",
                "commit",
                "rollback",
                "save",
                "back",
                "back",
                "send",
                "send",
                "send",
                "send",
                "answer",
                "many",
                "take",
                "take",
                "take",
                "take 1",
                "take answer",
                "one",
                "get",
                "timer",
                "wait",
                "move",
                "off",
                "on",
            ]
        ),
        st.integers(0, DIALOGS - 1),
    ),
    min_size=25,
    max_size=80,
)


class Ledger:
    """What the committed transactions have sent and received, per conversation and direction."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.received: dict[str, list[bytes]] = defaultdict(list)
        self.serial = 0

    def body(self) -> bytes:
        self.serial += 1
        return str(self.serial).encode()


class Actor:
    """A session and what its open transaction has done; a savepoint remembers how much."""

    def __init__(self, world: World, ledger: Ledger) -> None:
        self.world, self.ledger = world, ledger
        self.s = world.session()
        self.done: list[tuple[str, str, bytes]] = []
        self.mark: int | None = None

    def settle(self, committed: bool) -> None:
        if committed:
            for kind, handle, body in self.done:
                getattr(self.ledger, kind)[handle].append(body)
        self.done, self.mark = [], None

    def act(self, verb: str, dialog: str, others: list[str]) -> None:
        s = self.s
        if s.wait is not None:
            return
        try:
            self._act(verb, dialog, others)
        except Blocked:
            if s.wait.kind == "lock":
                s.engine.locks.cancel_wait(s)
            s.end_wait()
            s.rollback()
            self.settle(False)
        except SqlError as error:
            assert error.number in {9617, 1205}, error
            if error.number == 1205:
                s.rollback()
                self.settle(False)
        if not s.explicit and s.transaction is None and self.done:
            self.settle(True)

    def _act(self, verb: str, dialog: str, others: list[str]) -> None:
        s, world = self.s, self.world
        if s.error is not None:
            s.error = None  # chosen as a victim while nothing was running
        if verb == "begin" and not s.explicit:
            s.begin()
        elif verb in {"commit", "rollback"} and s.explicit:
            getattr(s, verb)()
            self.settle(verb == "commit")
        elif verb == "save" and s.explicit:
            s.save()
            self.mark = len(self.done)
        elif verb == "back" and self.mark is not None:
            s.rollback_to()
            del self.done[self.mark :]
        elif verb in {"send", "answer"}:
            handle = dialog if verb == "send" else world.target(dialog)
            body = self.ledger.body()
            s.send(handle, body)
            self.done.append(("sent", handle, body))
        elif verb == "many":
            body = self.ledger.body()
            s.send_many(others, body)
            self.done += [("sent", handle, body) for handle in others]
        elif verb.startswith("take"):
            self.took(s.take("IQ" if "answer" in verb else "TQ", 1 if "1" in verb else None))
        elif verb == "one":
            self.took(s.take("TQ", handle=world.target(dialog)))
        elif verb == "wait":
            self.took(s.wait_take("TQ"))
        elif verb == "get":
            s.get_group()
        elif verb == "timer":
            s.timer(dialog, 5)
            world.advance(5)
        elif verb == "move":
            s.move(dialog, world.broker.endpoints[others[0]].group.group_id)
        elif verb in {"off", "on"}:
            queue = world.queues["TQ"]
            if not any(
                mode
                for mode in queue.broker.engine.locks.resources.get(
                    queue.lock_key, _FREE
                ).granted.values()
            ):
                world.set_queue("TQ", enabled=verb == "on")

    def took(self, rows: list[tuple]) -> None:
        for handle, name, _, body in rows:
            if name == "M":
                self.done.append(("received", handle, body))


class _Free:
    granted: dict = {}


_FREE = _Free()


def play(program, **switches) -> tuple[World, Ledger]:
    world = World(**switches)
    for queue in ("IQ", "TQ"):
        world.set_queue(queue, poison_handling=False)
    ledger = Ledger()
    actors = [Actor(world, ledger) for _ in range(SESSIONS)]
    dialogs = []
    for _ in range(DIALOGS):
        handle = actors[0].s.dialog()
        actors[0].act("send", handle, [])
        dialogs.append(handle)
    for who, verb, which in program:
        others = sorted({dialogs[which], dialogs[(which + 1) % DIALOGS]})
        actors[who].act(verb, dialogs[which], others)
    for actor in actors:
        if actor.s.wait is not None:
            actor.s.end_wait()
        if actor.s.transaction is not None:
            actor.s.commit() if actor.s.explicit else actor.s.rollback()
            actor.settle(True)
    world.set_queue("TQ", enabled=True)
    drain(actors[0])
    return world, ledger


def drain(actor: Actor) -> None:
    for queue in ("TQ", "IQ"):
        while rows := actor.s.take(queue):
            actor.took(rows)
            actor.settle(True)


def check(world: World, ledger: Ledger) -> None:
    for endpoint in world.broker.endpoints.values():
        sent = ledger.sent[endpoint.handle]
        received = ledger.received[endpoint.peer.handle] if endpoint.peer else []
        assert received == sent
    assert world.engine.locks.resources == {}


@settings(max_examples=150, deadline=None)
@given(steps)
def test_every_committed_message_is_received_once_and_in_order(program):
    check(*play(program))


@settings(max_examples=60, deadline=None)
@given(steps)
def test_whatever_the_switches_say(program):
    check(*play(program, enqueue_at="commit", receive_order="group"))
    check(*play(program, own_message_visible=False))
