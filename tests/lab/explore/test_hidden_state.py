"""A value that is put away in one place, and used in another step, makes states of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_broker.engine import state
from redial_broker.engine.storage import Index, Table
from redial_broker.exec.database import Database
from redial_broker.exec.program import Frame
from redial_broker.exec.server import Server
from redial_broker.instance.session import Session
from redial_broker.ssb.conversation import Endpoint
from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.persistent import persistent
from redial_lab.explore.reduce import reduced
from redial_lab.explore.walk import Walks, walk
from tests.lab.explore.hiding import KEPT, Place, places
from tests.lab.explore.tables import database, tables

BOTH = {KEPT.format(1), KEPT.format(2)}
KINDS = ("session", "engine", "catalog", "storage", "broker", "clock")


def by_walking(scenario: Scenario):
    """Until the 2 is met, which is soon: a third of all schedules meet it."""
    return walk(scenario, Walks(200, until=KEPT.format(2)))


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("place", places(), ids=lambda place: place.name.replace(" ", "_"))
def test_every_search_finds_what_was_hidden_in(place: Place):
    for how in (search, reduced, persistent):
        found = how(place.scenario())
        assert (found.ended, set(found.violations)) == (True, BOTH), how.__name__
    assert KEPT.format(2) in by_walking(place.scenario()).violations


def test_there_is_a_place_in_every_kind_of_state():
    assert {place.kind for place in places()} == set(KINDS)


def without(owner: type, name: str):
    """The content of a class as it would be if one of its fields did not count."""
    declared = [
        replace(field, hidden="not here") if name in field.names else field
        for field in state.State(()).of_class(owner)
    ]
    return dict(state._functions(tuple(declared), state._journal_of(owner)))["content"]


@pytest.mark.parametrize(
    ("owner", "field", "name"),
    [
        (Session, "session_context", "SESSION_CONTEXT"),
        (Session, "temp_tables", "a temporary table"),
        (Session, "insert_exec", "INSERT EXECUTE in flight"),
        (Session, "error_stack", "an error's message"),
        (Frame, "program", "dynamic text"),
        (Frame, "saved_options", "the caller's SET LOCK_TIMEOUT"),
        (Database, "objects", "a procedure's text"),
        (Database, "properties", "an extended property"),
        (Server, "configuration", "sp_configure"),
        (Table, "next_identity", "a table's identity"),
        (Index, "entries", "a table's rows"),
        (Endpoint, "far_broker", "a dialog's broker instance"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).replace(" ", "_"),
)
def test_the_whole_search_would_miss_what_it_does_not_hash(monkeypatch, owner, field, name):
    """So the test above is worth something: without the field the 2 is not found.

    Each statement in one step: inside one, whether it has waited tells of the 2 as well.
    """
    [place] = [place for place in places() if place.name == name]
    made = place.scenario()
    made.statements_atomic = True
    assert set(search(made).violations) == BOTH
    monkeypatch.setattr(owner, "content", without(owner, field))
    assert set(search(made).violations) == {KEPT.format(1)}


BROKER = """
CREATE QUEUE dbo.q;
CREATE SERVICE s ON QUEUE dbo.q ([DEFAULT]);
CREATE TABLE dbo.Dialog (h uniqueidentifier NOT NULL);
DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE s TO SERVICE N's' WITH ENCRYPTION = OFF;
INSERT dbo.Dialog VALUES (@h);
"""


def prepared():
    return database(BROKER, "UPDATE dbo.a SET n = 10 WHERE id = 1;", on=tables("a", 2))


def test_a_timer_that_is_set_and_not_yet_armed():
    """1. T1 reads 20 and sets a timer by it. 2. T2 makes the 20 a 30, which nobody reads any more.
    3. T1 commits, and the timer is armed. The states before step 3 differ by nothing else.
    """
    set_timer = (
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier = (SELECT h FROM dbo.Dialog), "
        "@t int = (SELECT n FROM dbo.a WHERE id = 1); "
        "BEGIN CONVERSATION TIMER (@h) TIMEOUT = @t; "
        "UPDATE dbo.a SET n = n + 1 WHERE id = 2; COMMIT TRANSACTION;"
    )
    change = "UPDATE dbo.a SET n = 20 WHERE id = 1; UPDATE dbo.a SET n = 30 WHERE id = 1;"
    armed: set[float] = set()

    def timers(world: World) -> list[str]:
        armed.update(
            due
            for key, due in world.instance.engine.timers.entries.items()
            if key[0] == "ssb.timer"
        )
        return []

    result = search(
        Scenario(
            "timers",
            prepared,
            (Client("T1", (set_timer,), "d"), Client("T2", (change,), "d")),
            at_the_end=timers,
            firings=0,
        )
    )
    assert result.ended
    assert armed == {10.0, 20.0, 30.0}
