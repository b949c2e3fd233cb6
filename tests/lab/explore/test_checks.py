"""Who is held up: by a session that keeps its locks and lets time pass."""

from __future__ import annotations

import pytest

from redial_lab.explore import Client, Scenario, search
from redial_lab.explore.checks import held_up
from redial_lab.explore.world import World
from tests.lab.explore.tables import DIALOG, queues

HOLDS = "BEGIN TRANSACTION; UPDATE dbo.c SET n = 1 WHERE id = 1; {} COMMIT TRANSACTION;"
WANTS = "UPDATE dbo.c SET n = 2 WHERE id = 1;"
MESSAGE = "DECLARE @h uniqueidentifier; WAITFOR (RECEIVE @h = conversation_handle FROM dbo.qb);"
LOOP = "DECLARE @i int = 0; WHILE @i < 3 BEGIN WAITFOR DELAY '00:00:01'; SET @i += 1; END;"


def found(*batches: str) -> set[str]:
    """Who waits for whom, of all states."""

    def look(world: World) -> list[str]:
        return [f"{world.name_of(a)}: {world.name_of(b)}" for a, b in held_up(world, 1.0)]

    clients = tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(batches, 1))
    result = search(Scenario("held", queues, clients, on_every_state=look))
    assert result.ended
    return set(result.violations)


@pytest.mark.parametrize(
    ("meanwhile", "held"),
    [
        ("UPDATE dbo.c SET n = 1 WHERE id = 2;", set()),
        ("WAITFOR DELAY '00:00:01';", set()),
        ("WAITFOR DELAY '00:00:02';", {"T2: T1"}),
        (LOOP, {"T2: T1"}),
        (MESSAGE, {"T2: T1"}),
    ],
    ids=["works", "a second", "two seconds", "three times a second", "a message"],
)
def test_who_waits_longer_than_a_second_for_a_session_that_lets_time_pass_is_held_up(
    meanwhile, held
):
    assert found(HOLDS.format(meanwhile), WANTS) == held


def test_time_that_passes_without_a_lock_holds_nobody_up():
    assert found(f"WAITFOR DELAY '00:00:09'; {WANTS}", WANTS) == set()


def test_a_chain_of_waits_leads_to_its_end():
    """T3 waits for T2, who waits for T1."""
    between = "BEGIN TRANSACTION; UPDATE dbo.c SET n = 2 WHERE id = 2; " + WANTS + " COMMIT;"
    last = "UPDATE dbo.c SET n = 3 WHERE id = 2;"
    assert found(HOLDS.format("WAITFOR DELAY '00:00:02';"), between, last) == {"T2: T1", "T3: T1"}


def test_an_application_that_runs_nothing_with_a_transaction_open_is_not_counted():
    assert found("BEGIN TRANSACTION; UPDATE dbo.c SET n = 1 WHERE id = 1;", WANTS) == set()
    assert found(DIALOG, WANTS) == set()
