"""The edge the explorer sees: a sender holds rows and a group and waits for a queue behind DDL.

F-485, F-486: whoever holds IX on that queue and then wants one of the rows closes a cycle.
"""

from __future__ import annotations

import pytest

from redial_broker.instance.instance import Instance
from redial_lab.explore import Client, Scenario, World, search, shortest
from tests.lab.explore.tables import database

OBJECTS = """
CREATE QUEUE dbo.IQ; CREATE QUEUE dbo.TQ;
CREATE SERVICE [//i] ON QUEUE dbo.IQ ([DEFAULT]);
CREATE SERVICE [//t] ON QUEUE dbo.TQ ([DEFAULT]);
CREATE TABLE dbo.Dialogs (k int NOT NULL PRIMARY KEY, h uniqueidentifier NOT NULL, n int NOT NULL);
"""
DIALOG = """DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE N'//t' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x00);
INSERT dbo.Dialogs VALUES ({k}, @h, 0);"""
OF = "DECLARE @h uniqueidentifier; SELECT @h = h FROM dbo.Dialogs WITH (NOLOCK) WHERE k = {k};"
ROW = "UPDATE dbo.Dialogs SET n += 1 WHERE k = {k};"
SEND = "SEND ON CONVERSATION @h (0x01);"
RECEIVE = "RECEIVE TOP (1) * FROM dbo.TQ;"


def prepared(rollbacks: int = 0) -> Instance:
    """Two dialogs with a message each; the first message was rolled back that often."""
    rolled_back = [f"BEGIN TRAN; {RECEIVE} ROLLBACK;"] * rollbacks
    return database(OBJECTS, DIALOG.format(k=1), DIALOG.format(k=2), *rolled_back)


def sends(k: int, row: int, first: bool) -> str:
    """A transaction that sends on dialog k and writes a row, before or after."""
    parts = [ROW.format(k=row), SEND] if first else [SEND, ROW.format(k=row)]
    return f"{OF.format(k=k)} BEGIN TRAN; {' '.join(parts)} COMMIT;"


def deadlocks(world: World) -> list[str]:
    found = world.incidents.deadlocks
    return [f"deadlock over {sorted({w.resource for w in d.waiters})}" for d in found]


def scenario(clients: tuple[Client, ...], rollbacks: int = 0, **switches: object) -> Scenario:
    return Scenario(
        "queue locks",
        lambda: prepared(rollbacks),
        clients,
        at_the_end=deadlocks,
        switches=switches,
    )


SENDERS = (
    Client("row first", (sends(1, 2, first=True),), "d"),
    Client("send first", (sends(2, 2, first=False),), "d"),
)
DEFINER = Client("definer", ("ALTER QUEUE dbo.TQ WITH RETENTION = OFF;",), "d")
CYCLE = "deadlock over ['KEY', 'QUEUE']"


def test_two_senders_alone_do_not_meet_at_the_queue():
    result = search(scenario(SENDERS))
    assert (result.ended, result.violations) == (True, {})


@pytest.mark.parametrize(
    "choice, found", [("waits", {CYCLE}), ("own queue", set()), ("transmits", set())]
)
def test_a_sender_that_waits_behind_alter_queue_can_be_part_of_a_cycle(choice, found):
    case = scenario((*SENDERS, DEFINER), send_behind_queue_ddl=choice)
    result = search(case)
    assert result.ended and set(result.violations) == found


def test_the_cycle_goes_through_the_definers_request():
    case = scenario((*SENDERS, DEFINER))
    result = search(case)
    world = World(case)
    for step in shortest(case, result.violations[CYCLE]).path:
        world.take(step)
    (deadlock,) = world.incidents.deadlocks
    assert {w.mode for w in deadlock.waiters} == {"IX", "Sch-M", "X"}


READERS = (
    Client("reader", (f"BEGIN TRAN; {RECEIVE} COMMIT;",), "d"),
    Client("failing reader", (f"BEGIN TRAN; {RECEIVE} ROLLBACK;",), "d"),
)


def ends(case: Scenario) -> tuple[set[tuple[bool, bool]], bool]:
    """(whether the queue is on, whether a sender has waited for it) of every end; exhausted."""
    seen: set[tuple[bool, bool]] = set()
    waited: set[object] = set()

    def look(world: World) -> list[str]:
        queue = world.instance.server.database("d").resolve("dbo", "TQ")
        seen.add((queue.enabled, queue.going_off))
        return []

    def every(world: World) -> list[str]:
        for session in world.clients:
            wait = session.wait
            if wait is not None and wait.kind == "lock" and wait.resource.key[0] == "QUEUE":
                waited.add(world.name_of(session))
        return []

    result = search(
        Scenario(
            case.name,
            case.prepare,
            case.clients,
            on_every_state=every,
            at_the_end=look,
            switches=case.switches,
        )
    )
    assert not result.violations
    return seen, "row first" in waited


@pytest.mark.parametrize("choice, meets", [("behind readers", True), ("at once", False)])
def test_a_poisoned_queue_goes_off_in_a_step_of_its_own_and_a_sender_may_wait_behind_it(
    choice, meets
):
    """In every end the queue is off, or the fifth rollback was not one in a row."""
    case = scenario((*READERS, SENDERS[0]), rollbacks=4, poisoned_queue_goes_off=choice)
    seen, waited = ends(case)
    assert waited is meets
    assert seen == {(True, False), (False, False)}
