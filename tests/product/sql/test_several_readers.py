"""usp_TargetActivation by several readers at once: promise F-162, and what F-145 feared.

Feature poison handling, batch / set-based receive, deadlock or concurrency tests: no reader stops the
queue (thread ST, RW "OFF"), rows of one batch are told apart.

A reader that lands a row stops at a door (a trigger that reads a locked row), so that all readers
are inside their transactions at the same moment when it opens.
"""

import pytest

from redial_broker.exec import trouble

from .bare import installer
from .lab import Client, Lab, configured, send

READ = "EXECUTE audit.usp_TargetActivation;"
OFF = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);"
DOOR = (
    "CREATE TABLE dbo.Door (Id int NOT NULL PRIMARY KEY, Shut int NOT NULL);"
    "INSERT INTO dbo.Door VALUES (1, 0), (2, 0); GRANT SELECT ON dbo.Door TO audit_module;"
)
TRIGGER = (
    "CREATE TRIGGER audit.TR_Landing ON audit.Landing AFTER INSERT AS "
    "BEGIN SET NOCOUNT ON; DECLARE @s int; SELECT @s = Shut FROM dbo.Door WHERE Id = 1; "
    "IF EXISTS (SELECT 1 FROM inserted WHERE Body = 0x66) SET @s = CONVERT(int, N'x'); END;"
)
AFTER_ROLLBACK = (
    "CREATE TRIGGER audit.TR_ErrorLog ON audit.ErrorLog AFTER INSERT AS BEGIN SET NOCOUNT ON; "
    "DECLARE @s int; SELECT @s = Shut FROM dbo.Door WHERE Id = 2; END;"
)


def lab_with(readers: int, mutant: str | None = None, limit: int = 1, **switches: object) -> Lab:
    """Nobody is activated: the tests' own sessions are the readers."""
    target = {"receive_wait_ms": 0, "readers": readers}
    lab = Lab(configured(target=target, poison={"limit": limit}), mutant, **switches)
    lab.sa.execute(OFF)
    lab.advance(5)
    lab.sa.execute(DOOR)
    lab.sa.execute(TRIGGER)
    lab.sa.execute(AFTER_ROLLBACK)
    return lab


def conversations(lab: Lab, bodies: list[list[str]]) -> None:
    """One conversation for each list."""
    for batch in bodies:
        client = Client(lab)
        for body in batch:
            client.execute(send(body))


def inside(lab: Lab, readers: int) -> tuple[list[Client], list[Client]]:
    """All readers in their transactions at once; who opens the doors: one they are at, a second for
    whoever has rolled back."""
    porters = [Client(lab), Client(lab)]
    for door, porter in enumerate(porters, 1):
        porter.execute(f"BEGIN TRANSACTION; UPDATE dbo.Door SET Shut = 1 WHERE Id = {door};")
    sessions = [Client(lab) for _ in range(readers)]
    for session in sessions:
        session.submit(READ)
    assert not any(session.out.finished for session in sessions)
    return sessions, porters


def race(lab: Lab, readers: int) -> list[Client]:
    """All readers inside at once, then the doors open, and all end."""
    sessions, porters = inside(lab, readers)
    for porter in porters:
        porter.execute("COMMIT TRANSACTION;")
    lab.advance(120)
    assert all(session.out.finished and not session.errors for session in sessions)
    return sessions


def dead(lab: Lab) -> list[tuple]:
    return lab.rows("SELECT Body, Code FROM audit.DeadLetter;")


def rollbacks(lab: Lab) -> int:
    return len(lab.errors())


def on(lab: Lab) -> bool:
    return lab.rows("SELECT 1 FROM sys.service_queues WHERE is_receive_enabled = 0;") == []


def at_rest(lab: Lab) -> None:
    """Nothing unread, no lock held by anybody, an application lock neither."""
    assert lab.rows("SELECT 1 FROM audit.TargetQueue;") == []
    assert not lab.instance.engine.locks.resources


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("readers", [2, 3, 4])
def test_readers_share_the_conversations_and_every_message_lands_in_its_order(readers):
    lab = lab_with(readers)
    conversations(lab, [[f"0x{c}{n}" for n in range(4)] for c in range(1, readers + 1)])
    race(lab, readers)
    bodies = lab.bodies()
    for c in range(1, readers + 1):
        mine = [body for body in bodies if body[0] >> 4 == c]
        assert mine == [bytes([(c << 4) + n]) for n in range(4)]
    at_rest(lab)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("readers", [2, 3, 4, 5, 8])
def test_as_many_doomed_rows_at_once_as_there_are_readers_do_not_switch_the_queue_off(readers):
    lab = lab_with(readers)
    conversations(lab, [["0x01", "0x66", "0x02"] for _ in range(readers)])
    race(lab, readers)
    assert on(lab)
    assert dead(lab) == [(b"\x66", 245)] * readers
    assert sorted(lab.bodies()) == [b"\x01"] * readers + [b"\x02"] * readers
    assert rollbacks(lab) == readers
    at_rest(lab)


@pytest.mark.parametrize("readers", [4, 5, 8])
def test_doomed_first_rows_neither(readers):
    lab = lab_with(readers)
    conversations(lab, [["0x66", "0x66"] for _ in range(readers)])
    race(lab, readers)
    assert on(lab)
    assert dead(lab) == [(b"\x66", 245)] * 2 * readers
    at_rest(lab)


def test_one_reader_meets_doomed_rows_in_many_conversations_one_after_the_other():
    """F-269: nobody says which conversation the next RECEIVE takes, so it names the suspect."""
    lab = lab_with(1)
    conversations(lab, [["0x01", "0x66"] for _ in range(7)])
    race(lab, 1)
    assert on(lab)
    assert len(dead(lab)) == 7 and len(lab.bodies()) == 7
    at_rest(lab)


def test_where_the_lock_is_refused_four_readers_are_still_within_the_bound():
    """The other value of what is unknown (F-162)."""
    lab = lab_with(4, applock_when_doomed="refused")
    conversations(lab, [["0x01", "0x66"] for _ in range(4)])
    race(lab, 4)
    assert on(lab)
    assert len(dead(lab)) == 4 and len(lab.bodies()) == 4
    at_rest(lab)


def test_where_the_lock_is_refused_four_readers_with_two_tries_a_row_reach_five_as_F_145_feared():
    """That the turn is what helps: nothing is lost, but the queue stops."""
    lab = lab_with(4, limit=2, applock_when_doomed="refused")
    conversations(lab, [["0x66"] for _ in range(4)])
    race(lab, 4)
    assert not on(lab)


def test_readers_that_take_no_turns_switch_the_queue_off():
    lab = lab_with(4, "no_turn", limit=2)
    conversations(lab, [["0x66"] for _ in range(4)])
    race(lab, 4)
    assert not on(lab)


@pytest.mark.parametrize("per", ["queue", "message"])
def test_it_holds_whatever_the_rollbacks_are_counted_by(per):
    lab = lab_with(4, limit=2, poison_counts=per)
    conversations(lab, [["0x66"] for _ in range(4)])
    race(lab, 4)
    assert on(lab) and len(dead(lab)) == 4


def full_when_all_are_inside(lab: Lab, readers: int) -> list[Client]:
    """The disk is full for an hour from when every reader has received and is about to write."""
    lab.sa.execute("CREATE TABLE dbo.Filled (Id int NOT NULL);")
    lab.sa.execute("CREATE PROCEDURE dbo.Fill AS INSERT INTO dbo.Filled VALUES (1);")
    lab.sa.execute("GRANT EXECUTE ON dbo.Fill TO audit_module;")
    lab.sa.execute(
        "ALTER TRIGGER audit.TR_Landing ON audit.Landing AFTER INSERT AS BEGIN SET NOCOUNT ON; "
        "DECLARE @s int; SELECT @s = Shut FROM dbo.Door WHERE Id = 1; EXECUTE dbo.Fill; END;"
    )
    conversations(lab, [[f"0x0{n + 1}"] for n in range(readers)])
    sessions, porters = inside(lab, readers)
    database = lab.instance.database("lab")
    trouble.begin(database, trouble.DATA_FULL)
    for porter in porters:
        porter.execute("COMMIT TRANSACTION;")
    lab.advance(3600)
    trouble.end(database)
    return sessions


@pytest.mark.parametrize("readers", [4, 5, 6, 9])
@pytest.mark.parametrize("task", [True, False])
def test_a_disk_that_is_full_when_all_readers_are_inside_switches_no_queue_off(readers, task):
    """1 each has received  2 no room: each rolls back once, and leaves, as activation is off
    3 room and activation: all land (F-488)."""
    lab = lab_with(readers, poison_task_without_handling=task)
    sessions = full_when_all_are_inside(lab, readers)
    assert on(lab) and lab.bodies() == [] and dead(lab) == []
    assert all(session.out.finished and not session.errors for session in sessions)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(30)
    assert sorted(lab.bodies()) == [bytes([n + 1]) for n in range(readers)]
    assert on(lab) and dead(lab) == []
    at_rest(lab)


def test_six_readers_that_become_four_count_again_and_health_knows_what_is_meant():
    lab = Lab(configured(target={"readers": 6}))
    handled = "SELECT is_poison_message_handling_enabled FROM sys.service_queues WHERE name = "
    assert lab.rows(handled + "N'TargetQueue';") == [(False,)]
    assert lab.rows(handled + "N'InitiatorQueue';") == [(True,)]
    assert not any("poison handling" in row[1] for row in lab.rows("EXECUTE audit.usp_Health;"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH POISON_MESSAGE_HANDLING (STATUS = ON);")
    assert any("poison handling" in row[1] for row in lab.rows("EXECUTE audit.usp_Health;"))
    lab.sa.execute("EXECUTE audit.usp_StartQueue @reason = N'as configured', @WhatIf = 0;")
    assert lab.rows(handled + "N'TargetQueue';") == [(False,)]
    for sql in installer(configured()):
        lab.sa.execute(sql)
    assert lab.rows(handled + "N'TargetQueue';") == [(True,)]


def test_with_the_servers_poison_handling_the_same_six_readers_switch_it_off():
    """What F-488 is for: nothing is lost either, but somebody has to start the queue."""
    lab = lab_with(6)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH POISON_MESSAGE_HANDLING (STATUS = ON);")
    full_when_all_are_inside(lab, 6)
    assert not on(lab)


def test_a_fault_that_nothing_mends_does_not_spin_where_no_rollback_stops_the_queue():
    """Not even a dead letter can be written: each reader tries again every five seconds."""
    lab = lab_with(6)
    lab.sa.execute(
        "CREATE TRIGGER audit.TR_Dead ON audit.DeadLetter AFTER INSERT AS THROW 60001, N'no', 1;"
    )
    conversations(lab, [["0x66"]])
    Client(lab).submit(READ)
    lab.advance(60)
    assert on(lab) and 10 <= rollbacks(lab) <= 13


def test_a_deadlock_among_readers_costs_no_message_and_blames_no_row():
    """A statement of their own takes the readers' rows in opposite orders."""
    lab = lab_with(2)
    lab.sa.execute(
        "CREATE TABLE dbo.Pair (Id int NOT NULL PRIMARY KEY, N int NOT NULL);"
        "INSERT INTO dbo.Pair VALUES (1, 0), (2, 0);"
        "GRANT SELECT, UPDATE ON dbo.Pair TO audit_module;"
    )
    lab.sa.execute(
        "ALTER TRIGGER audit.TR_Landing ON audit.Landing AFTER INSERT AS BEGIN SET NOCOUNT ON; "
        "DECLARE @s int, @a int; SELECT @a = CASE WHEN EXISTS (SELECT 1 FROM inserted "
        "WHERE Body = 0x01) THEN 1 ELSE 2 END; UPDATE dbo.Pair SET N += 1 WHERE Id = @a; "
        "SELECT @s = Shut FROM dbo.Door WHERE Id = 1; UPDATE dbo.Pair SET N += 1 "
        "WHERE Id = 3 - @a; END;"
    )
    conversations(lab, [["0x01"], ["0x02"]])
    race(lab, 2)
    assert lab.instance.engine.locks.deadlocks
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"]
    assert dead(lab) == [] and on(lab)
    at_rest(lab)


def test_a_reader_killed_in_its_turn_gives_it_back():
    lab = lab_with(2)
    conversations(lab, [["0x66"], ["0x66"]])
    porter = Client(lab)
    porter.execute("BEGIN TRANSACTION; UPDATE dbo.Door SET Shut = 1 WHERE Id = 1;")
    first, second = Client(lab), Client(lab)
    first.submit(READ)
    second.submit(READ)
    lab.sa.execute(f"KILL {first.session.id};")
    porter.execute("COMMIT TRANSACTION;")
    lab.advance(60)
    assert second.out.finished
    third = Client(lab)
    third.submit(READ)
    lab.advance(60)
    assert third.out.finished and on(lab) and len(dead(lab)) == 2
    at_rest(lab)
