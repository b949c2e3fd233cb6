"""A step taken statement by statement, as a trace takes it, leads where the step leads."""

from __future__ import annotations

import pytest

from redial_lab.explore import Client, Scenario, World
from redial_lab.explore.faults import Fault
from redial_lab.explore.tracing_machine import TracingMachine
from tests.lab.explore.tables import add, database, tables

NESTED = (
    "CREATE PROCEDURE dbo.P AS DECLARE @n int = 1; UPDATE dbo.a SET n = @n; SET @n = 2; RETURN @n;"
)
BATCHES = {
    "statements that others do not see between others": (
        f"DECLARE @n int = 1; {add('a')} SET @n += 1; {add('b')} SET @n += 1;",
    ),
    "a procedure": ("DECLARE @r int; EXECUTE @r = dbo.P; UPDATE dbo.b SET n = @r;",),
    "NOEXEC": ("SET NOEXEC ON;", f"{add('a')} SET NOEXEC OFF; {add('a')} {add('b')}"),
    "an error that is handled": (
        f"BEGIN TRY INSERT dbo.a VALUES (1, 0); END TRY BEGIN CATCH {add('b')} END CATCH;",
    ),
    "a wait": (f"BEGIN TRANSACTION; {add('a')} WAITFOR DELAY '00:00:01'; {add('b')} COMMIT;",),
}


@pytest.mark.parametrize("struck", ["", "disk_full", "kill"])
@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("what", BATCHES)
def test_every_state_is_the_same(what, atomic, struck):
    """Always the last step that is possible: a fault strikes as soon as it can."""
    clients = (Client("T1", BATCHES[what], "d"), Client("T2", (add("a") + add("b"),), "d"))
    made = Scenario("steps", lambda: database(NESTED, on=tables("ab")), clients)
    made.statements_atomic = atomic
    made.faults = (Fault(struck),) if struck else ()
    plain, traced = World(made), World(made)
    machine = traced.instance.machine = TracingMachine(traced.instance.machine)
    taken = 0
    while steps := plain.steps():
        assert traced.steps() == steps
        for world in (plain, traced):
            world.take(steps[-1])
        assert traced.hash() == plain.hash(), plain.describe(steps[-1])
        taken += 1
    assert taken > 2 and machine.noted
