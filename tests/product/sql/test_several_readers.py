"""usp_TargetActivation by several readers at once: promise F-162, and what F-145 feared.

Feature poison handling, batch / set-based receive, deadlock or concurrency tests: no reader stops the
queue (thread ST, RW "OFF"), rows of one batch are told apart.

A reader that lands a row stops at a door (a trigger that reads a locked row), so that all readers
are inside their transactions at the same moment when it opens.
"""

import pytest

from .lab import Client, Lab, configured, send

READ = "EXECUTE audit.usp_TargetActivation;"
OFF = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);"
DOOR = (
    "CREATE TABLE dbo.Door (Id int NOT NULL PRIMARY KEY, Shut int NOT NULL);"
    "INSERT INTO dbo.Door VALUES (1, 0), (2, 0);"
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


def lab_with(readers: int, mutant: str | None = None, **switches: object) -> Lab:
    """Nobody is activated: the tests' own sessions are the readers."""
    lab = Lab(configured(target={"receive_wait_ms": 0, "readers": readers}), mutant, **switches)
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


def race(lab: Lab, readers: int) -> list[Client]:
    """All readers inside at once, then a door opens; a second holds whoever has rolled back."""
    porter, second = Client(lab), Client(lab)
    porter.execute("BEGIN TRANSACTION; UPDATE dbo.Door SET Shut = 1 WHERE Id = 1;")
    second.execute("BEGIN TRANSACTION; UPDATE dbo.Door SET Shut = 1 WHERE Id = 2;")
    sessions = [Client(lab) for _ in range(readers)]
    for session in sessions:
        session.submit(READ)
    assert not any(session.out.finished for session in sessions)
    porter.execute("COMMIT TRANSACTION;")
    second.execute("COMMIT TRANSACTION;")
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


@pytest.mark.parametrize("readers", [5, 8])
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


def test_where_the_lock_is_refused_eight_readers_reach_five_rollbacks_as_F_145_feared():
    """That the turn is what helps: nothing is lost, but the queue stops."""
    lab = lab_with(8, applock_when_doomed="refused")
    conversations(lab, [["0x66"] for _ in range(8)])
    race(lab, 8)
    assert not on(lab)


def test_readers_that_take_no_turns_switch_the_queue_off():
    lab = lab_with(8, "no_turn")
    conversations(lab, [["0x01", "0x66"] for _ in range(8)])
    race(lab, 8)
    assert not on(lab)


@pytest.mark.parametrize("per", ["queue", "message"])
def test_it_holds_whatever_the_rollbacks_are_counted_by(per):
    lab = lab_with(8, poison_counts=per)
    conversations(lab, [["0x66"] for _ in range(8)])
    race(lab, 8)
    assert on(lab) and len(dead(lab)) == 8


def test_a_deadlock_among_readers_costs_no_message_and_blames_no_row():
    """A statement of their own takes the readers' rows in opposite orders."""
    lab = lab_with(2)
    lab.sa.execute(
        "CREATE TABLE dbo.Pair (Id int NOT NULL PRIMARY KEY, N int NOT NULL);"
        "INSERT INTO dbo.Pair VALUES (1, 0), (2, 0);"
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
