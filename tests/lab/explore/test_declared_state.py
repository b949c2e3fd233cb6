"""One declaration per class says what a rewind brings back and what the hash covers: it is whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import pytest

from redial.paths import ROOT
from redial.tsql.ast import Node
from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.state import (
    DEFINITIONS,
    DERIVED,
    MADE,
    STATES,
    State,
    Stateful,
    definition,
    explained,
    journaled,
    plain,
    state,
)
from redial_lab.explore import Scenario, World
from redial_lab.explore.user_files import load
from redial_lab.proof.setups import Setup
from tests.lab.explore.hiding import places
from tests.sampling import full

SETUPS = (
    "senders=2 faults=kill+cancel lifetimes=1",
    "senders=1 key=pool faults=reader_restart+queue_off_and_on",
    "senders=2 isolation=rcsi key=application",
)


def scenarios() -> Iterator[Scenario]:
    """The example with a broker, hiding places, and our own procedures: these with --full."""
    yield load(ROOT / "sql" / "examples" / "forum" / "transaction.toml")[0]
    yield from (Setup.parse(text).scenario() for text in (SETUPS if full() else ()))
    yield from (place.scenario() for place in places()[:: 1 if full() else 40])


STEPS = 40 if full() else 10
"""Of a walk."""


# ---------------------------------------------------------------------- declarations
def test_a_field_that_nobody_declares_is_refused():
    with pytest.raises(TypeError, match="state of Bad: label is not declared"):

        class Bad(Part):
            __slots__ = ("items", "label")
            STATE = state(journaled("items"))


def test_a_field_that_is_declared_twice_is_refused():
    with pytest.raises(TypeError, match="items is declared twice"):

        class Bad(Part):
            __slots__ = ("items",)
            STATE = state(journaled("items"), journaled("items"))


def test_a_part_without_slots_is_refused():
    with pytest.raises(TypeError, match="it has no __slots__"):

        class Bad(Part):
            STATE = state()


def test_a_part_cannot_save_or_show_itself_by_hand():
    with pytest.raises(TypeError, match="content is made from STATE"):

        class Bad(Part):
            __slots__ = ()
            STATE = state()

            def content(self):
                return 1


def test_a_definition_nobody_declared_is_refused():
    class Unknown:
        pass

    with pytest.raises(TypeError, match="nobody says what of it counts"):
        plain(Unknown())
    with pytest.raises(TypeError, match=r"no fields \['other'\]"):
        plain(definition(other="there is none")(type("Known", (), {"__slots__": ()}))())


def test_what_is_left_out_has_a_reason():
    for owner in STATES:
        for field in State(()).of_class(owner):
            assert field.how != DERIVED or field.hidden, (owner, field)
            assert not field.hidden or len(field.hidden.split()) > 1, (owner, field)
    for owner, left_out in DEFINITIONS.items():
        assert all(len(why.split()) > 1 or why.endswith("'s") for why in left_out.values()), owner
    lines = list(explained())
    assert len(lines) > 200
    assert not any("does not count: \n" in line for line in lines)


# ---------------------------------------------------------------------- what is there is declared
CODE = (
    FunctionType, MethodType, BuiltinFunctionType, ModuleType, type, property, Node, Journal,
)  # fmt: skip
"""Not followed: they are the same in every state."""

MACHINERY = {
    "Instance": "its parts are listed by ``parts``; the rest runs statements",
    "Machine": "holds no state of its own",
    "Engine": "its parts are listed by ``parts``",
    "Access": "reads and changes rows, keeps nothing",
    "Meter": "counts work inside a statement; a search has no turns",
    "TransactionManager": "keeps what is listed by ``parts``",
    "Activation": "starts tasks; its trace is read by tests only",
    "QueueTasks": "starts tasks, keeps nothing",
    "Lanes": "long statements side by side; a search has none",
    "TextCache": "compiled texts, by their text",
    "VirtualClock": "the explorer's Moment saves and shows it",
    "Program": "a compiled text: its word is what it is",
    "StatementInfo": "of a compiled text",
    "ParameterInfo": "of a compiled text",
    "Source": "a text with its lines, or a table of a compiled query",
    "QueryColumn": "of a compiled query",
    "Product": "chosen when the instance was made",
    "Collector": "results of a session that no search runs",
    "_Chosen": "switches, which no statement changes",
    "LockWait": "shown by its session; never changed, only replaced",
    "OtherWait": "shown by its session; never changed, only replaced",
    "Request": "shown by the lock it waits for; never changed",
    "Options": "immutable; its word is what it is",
    "Missing": "stands for no value",
    "TransactionNumber": "an id, shown by whose it is",
    "SqlError": "shown by the session that is to fail with it",
}
"""Classes whose objects are no state, and why."""


def reached(world: World) -> dict[type, object]:
    """One object of every class that can be reached from a world's parts."""
    found: dict[type, object] = {}
    seen: dict[int, object] = {}
    waiting: list[object] = list(world.parts())
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, CODE):
            continue
        seen[id(item)] = item
        found.setdefault(type(item), item)
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting += item
        elif type(item).__name__ not in MACHINERY:
            waiting += [getattr(item, name, None) for name in _slots(item)]
            waiting += getattr(item, "__dict__", {}).values()
    return found


def _slots(item: object) -> list[str]:
    return [
        name
        for base in type(item).__mro__
        for name in base.__dict__.get("__slots__", ())
        if name not in ("__dict__", "__weakref__")
    ]


PLAIN_MODULES = ("builtins", "datetime", "decimal", "sortedcontainers", "itertools", "collections")


def test_every_class_that_a_state_is_made_of_is_declared():
    unknown: dict[str, object] = {}
    for scenario in scenarios():
        world, dice = World(scenario), random.Random(scenario.name)
        for _ in range(STEPS):
            steps = world.steps()
            if not steps:
                break
            world.journal.mark()
            world.take(dice.choice(steps))
        for kind, item in reached(world).items():
            known = (
                issubclass(kind, Stateful)
                or any(base in DEFINITIONS for base in kind.__mro__)
                or kind.__module__.split(".")[0] in PLAIN_MODULES
                or kind.__name__ in MACHINERY
            )
            if not known:
                unknown[f"{kind.__module__}.{kind.__name__}"] = item
        world.close()
    assert not unknown


# ---------------------------------------------------------------------- a rewind is whole
def picture(world: World) -> dict[int, tuple[Any, dict[str, Any]]]:
    """Every field of every stateful object that can be reached, as it is now."""
    found: dict[int, tuple[Any, dict[str, Any]]] = {}
    waiting: list[Any] = list(world.parts())
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting += item
        elif isinstance(item, Stateful) and id(item) not in found:
            fields = {
                name: getattr(item, name)
                for field in State(()).of_class(type(item))
                if field.how != DERIVED
                for name in field.names
            }
            found[id(item)] = item, {name: _copy(value) for name, value in fields.items()}
            waiting += fields.values()
    return found


def _copy(value: Any) -> Any:
    return type(value)(value) if isinstance(value, (list, dict, set)) else value


def _differs(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [name for name, value in old.items() if value is not new[name] and value != new[name]]


def test_a_step_that_is_taken_back_leaves_no_trace_in_any_field():
    """And what is declared to be made once does not change at all."""
    for scenario in scenarios():
        world, dice = World(scenario), random.Random(scenario.name)
        for _ in range(STEPS):
            steps = world.steps()
            if not steps:
                break
            before, mark, step = picture(world), world.journal.mark(), dice.choice(steps)
            world.take(step)
            for item, fields in picture(world).values():
                was = before.get(id(item))
                once = [
                    name
                    for field in State(()).of_class(type(item))
                    if field.how == MADE
                    for name in field.names
                ]
                changed = _differs(was[1], fields) if was is not None else []
                assert not set(changed) & set(once), (scenario.name, step, item)
            world.journal.rewind(mark)
            after = picture(world)
            assert before.keys() == after.keys(), (scenario.name, step)
            for key, (item, fields) in before.items():
                changed = _differs(fields, after[key][1])
                assert not changed, (scenario.name, step, type(item).__name__, changed)
            world.journal.mark()
            world.take(step)
        world.close()


def test_no_content_names_an_address():
    """What is hashed is the same in every process."""
    for scenario in scenarios():
        world = World(scenario)
        for _ in range(6):
            for part in world.parts():
                assert " at 0x" not in repr(part.content()), part
            steps = world.steps()
            if steps:
                world.journal.mark()
                world.take(steps[0])
        world.close()
