"""The explorer's needs: a rewind restores every hash, the same steps lead to the same state."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.engine.errors import SqlError
from redial_broker.engine.switches import SWITCHES
from redial_broker.ssb import Activation
from tests.broker.ssb.world import Blocked, World, ddl, options

FIELDS = ("wait", "expired", "awake", "error", "transaction", "explicit", "guids")

program = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(
            [
                "begin",
                "commit",
                "rollback",
                "dialog",
                "send",
                "answer",
                "take",
                "take IQ",
                "wait",
                "end",
                "end target",
                "error",
                "error target",
                "cleanup",
                "timer",
                "move",
                "off",
                "on",
                "active",
                "tick",
                "service",
                "broker off",
                "broker on",
                "savepoint",
                "back",
            ]
        ),
        st.integers(0, 2),
    ),
    max_size=25,
)


class Machine:
    """Two sessions over one world; a step that must wait or fails is simply over."""

    def __init__(self, **switches) -> None:
        self.world = World(**switches)
        self.sessions = [self.world.session() for _ in range(2)]
        self.handles: list[str] = [self.sessions[0].dialog(lifetime=50) for _ in range(2)]
        self.sessions[0].send(self.handles[0], b"0")

    def save(self) -> tuple:
        return (
            [{name: getattr(s, name) for name in FIELDS} for s in self.sessions],
            self.handles[:],
            self.world.engine.clock.seconds,
            self.world.activated[:],
        )

    def restore(self, saved: tuple) -> None:
        sessions, self.handles, self.world.engine.clock.seconds, self.world.activated = (
            saved[0],
            saved[1][:],
            saved[2],
            saved[3][:],
        )
        for s, fields in zip(self.sessions, sessions):
            for name, value in fields.items():
                setattr(s, name, value)

    def hash(self) -> list[bytes]:
        engine = self.world.engine
        parts = [
            engine.locks,
            engine.timers,
            *self.world.broker.parts(),
            *self.world.broker.queues(),
        ]
        return [part.hash() for part in parts]

    def fresh_hash(self) -> list[bytes]:
        """Hashes computed anew: a digest that was not forgotten would show here."""
        for part in [*self.world.broker.parts(), *self.world.broker.queues()]:
            part.digest = None
        return self.hash()

    def step(self, who: int, verb: str, which: int) -> None:
        s = self.sessions[who]
        if s.wait is not None:
            return
        handle = self.handles[which % len(self.handles)]
        try:
            self._step(s, verb, handle)
        except Blocked:
            if s.wait.kind == "lock":
                s.engine.locks.cancel_wait(s)
            s.end_wait()
            s.rollback()
            s.explicit = False
        except SqlError as error:
            if error.number == 1205:
                s.rollback()
        s.error = None

    def _step(self, s, verb: str, handle: str) -> None:
        world, target = self.world, self.world.target(handle)
        simple = {
            "send": lambda: s.send(handle, b"x"),
            "answer": lambda: s.send(target, b"y"),
            "take": lambda: s.take("TQ", 1),
            "take IQ": lambda: s.take("IQ"),
            "wait": lambda: s.wait_take("TQ"),
            "end": lambda: s.end(handle),
            "end target": lambda: s.end(target),
            "error": lambda: s.end_error(handle),
            "error target": lambda: s.end_error(target),
            "cleanup": lambda: s.cleanup(target),
            "timer": lambda: s.timer(handle, 5),
            "off": lambda: self.alter(enabled=False),
            "on": lambda: self.alter(enabled=True),
            "tick": lambda: world.advance(7),
            "active": lambda: self.alter(activation=Activation("dbo.p", 2)),
            "service": lambda: s.ddl(ddl.drop_service, "T"),
            "broker off": lambda: options.disable(world.broker),
            "broker on": lambda: options.enable(world.broker),
            "move": lambda: (
                s.move(handle, world.broker.endpoints[self.handles[0]].group.group_id)
                if self.handles[0] in world.broker.endpoints
                else None
            ),
        }
        if verb in simple:
            simple[verb]()
        elif verb == "dialog":
            self.handles.append(s.dialog())
        elif verb == "begin" and not s.explicit:
            s.begin()
        elif verb in {"commit", "rollback"} and s.explicit:
            getattr(s, verb)()
        elif verb == "savepoint" and s.explicit:
            s.save()
        elif verb == "back" and s.explicit and s.transaction.savepoints:
            s.rollback_to()

    def alter(self, **values) -> None:
        world = self.world
        resource = world.engine.locks.resources.get(world.queues["TQ"].lock_key)
        if resource is None or not resource.granted:
            world.set_queue("TQ", **values)


races = st.fixed_dictionaries(
    {
        name: st.sampled_from(SWITCHES[name].values)
        for name in (
            "enqueue_at",
            "end_over_open_send",
            "send_over_open_end",
            "expiry_waits_for_sender",
        )
    }
)


@settings(max_examples=300, deadline=None)
@given(program, program, races)
def test_a_rewind_restores_every_hash_and_the_same_steps_repeat(before, after, switches):
    machine = Machine(**switches)
    for step in before:
        machine.step(*step)
    machine.world.engine.journal.recording = True
    start, saved = machine.hash(), machine.save()
    mark = machine.world.engine.journal.mark()
    for step in after:
        machine.step(*step)
    reached = machine.hash()
    assert machine.fresh_hash() == reached
    machine.world.engine.journal.rewind(mark)
    machine.restore(saved)
    assert machine.hash() == start
    assert machine.fresh_hash() == start
    for step in after:
        machine.step(*step)
    assert machine.hash() == reached


def test_orders_of_independent_steps_reach_the_same_state():
    reached = []
    for order in ((0, 1), (1, 0)):
        world = World(receive_order="group")
        sessions = [world.session() for _ in range(2)]
        handles = [s.dialog() for s in sessions]
        for place in order:
            sessions[place].send(handles[place], b"x")
        reached.append([part.hash() for part in [*world.broker.parts(), *world.broker.queues()]])
    assert reached[0] == reached[1]


RACE = [
    (0, "begin"),
    (0, "send"),
    (1, "begin"),
    (1, "END"),
    (0, "savepoint"),
    (0, "send"),
    (0, "back"),
    (0, "send"),
    (0, "commit"),
    (1, "commit"),
    (1, "begin"),
    (1, "take"),
    (1, "rollback"),
    (1, "take"),
    (1, "tick"),
]
"""A sender and somebody who ENDs the target's side meanwhile; then a reader, twice."""


@pytest.mark.parametrize("verb", ["end target", "error target", "cleanup"])
@pytest.mark.parametrize("end", SWITCHES["end_over_open_send"].values)
@pytest.mark.parametrize("send", SWITCHES["send_over_open_end"].values)
@pytest.mark.parametrize("enqueue_at", ["send", "commit"])
def test_every_step_of_a_race_with_end_is_rewound(verb, end, send, enqueue_at):
    machine = Machine(
        end_over_open_send=end,
        send_over_open_end=send,
        enqueue_at=enqueue_at,
        expiry_waits_for_sender=True,
    )
    journal = machine.world.engine.journal
    journal.recording = True
    for who, what in RACE:
        mark, saved, before = journal.mark(), machine.save(), machine.hash()
        hashes = []
        for _ in range(2):
            machine.step(who, verb if what == "END" else what, 0)
            hashes.append(machine.fresh_hash())
            journal.rewind(mark)
            machine.restore(saved)
            assert machine.fresh_hash() == before
        assert hashes[0] == hashes[1]
        machine.step(who, verb if what == "END" else what, 0)
