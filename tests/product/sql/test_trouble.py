"""Trouble of the server blames no message: readers wait with nothing held, and go on (F-473)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from redial_broker.exec import trouble

from .lab import Client, Lab, configured, send
from .test_usp_TargetActivation import pause, queue_is_on

HOUR = 3600
START = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);"
STOP = "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);"
HELD = """
SELECT l.resource_type FROM sys.dm_tran_locks AS l
INNER JOIN sys.dm_broker_activated_tasks AS t ON t.spid = l.request_session_id
WHERE l.resource_type <> N'DATABASE';"""
READERS = """
SELECT t.spid, s.login_time FROM sys.dm_broker_activated_tasks AS t
INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = t.spid;"""
TROUBLE = (trouble.DATA_FULL, trouble.LOG_FULL, trouble.NO_MEMORY, trouble.READ_ONLY_FILEGROUP)


@contextmanager
def in_trouble(lab: Lab, number: int, room: int = 0) -> Iterator[None]:
    """Meanwhile who writes is told that error. room: the log has some, for a RECEIVE of so many rows."""
    database = lab.instance.database("lab")
    trouble.begin(database, number, room=room)
    try:
        yield
    finally:
        trouble.end(database)


def dead(lab: Lab) -> list[tuple]:
    return lab.rows("SELECT Side, Body FROM audit.DeadLetter;")


def readers(lab: Lab) -> int:
    return len(lab.rows("SELECT spid FROM sys.dm_broker_activated_tasks;"))


@pytest.mark.sampled(every=5, meets=("number", "several", "dooms"))
@pytest.mark.parametrize("number", TROUBLE)
@pytest.mark.parametrize("several", [1, 2, 4, 6])
@pytest.mark.parametrize("dooms", [False, True])
def test_a_full_disk_costs_each_reader_one_rollback_and_landing_goes_on_by_itself(
    number, several, dooms
):
    """1 messages wait  2 no room for an hour  3 room again: all has landed, nothing was blamed."""
    lab = Lab(configured(target={"readers": several}), server_trouble_dooms=dooms)
    pause(lab)
    for body in range(several):
        Client(lab).execute(send(f"0x0{body + 1}"))
    with in_trouble(lab, number):
        lab.sa.execute(START)
        lab.advance(HOUR)
        assert lab.bodies() == [] and dead(lab) == []
        assert queue_is_on(lab) and readers(lab) == several
    lab.advance(61)
    assert sorted(lab.bodies()) == [bytes([n + 1]) for n in range(several)]
    assert dead(lab) == [] and queue_is_on(lab)
    waited = [text for name, _, text in lab.errors() if name == "usp_WaitForServer"]
    assert len(waited) == several and all("It goes on after" in text for text in waited)


@pytest.mark.parametrize("several", [1, 4])
@pytest.mark.parametrize("wait", [0, 1000])
def test_a_log_with_little_room_left_does_not_switch_the_queue_off(several, wait):
    """1 ten messages on each of four dialogs  2 the log has room for the RECEIVE of one  3 more room."""
    lab = Lab(configured(target={"readers": several, "receive_wait_ms": wait}))
    pause(lab)
    sent = [bytes([16 * who + number]) for who in range(4) for number in range(10)]
    clients = [Client(lab) for _ in range(4)]
    for body in sent:
        clients[body[0] // 16].execute(send("0x" + body.hex()))
    with in_trouble(lab, trouble.LOG_FULL, room=1):
        lab.sa.execute(START)
        lab.advance(60)
        assert queue_is_on(lab) and lab.bodies() and dead(lab) == []
        lab.advance(HOUR)
        assert queue_is_on(lab) and dead(lab) == []
    lab.advance(61)
    assert sorted(lab.bodies()) == sent and dead(lab) == [] and queue_is_on(lab)


def test_a_reader_of_the_version_before_may_call_it_with_two_arguments():
    """An upgrade replaces it while readers run that know no batch."""
    lab = Lab()
    lab.sa.submit(
        "DECLARE @queue int = OBJECT_ID(N'audit.TargetQueue'), @left int; "
        "EXECUTE @left = audit.usp_WaitForServer NULL, @queue; SELECT @left;"
    )
    lab.advance(6)
    assert lab.sa.out.finished and lab.sa.out.result_sets[-1].rows == [(0,)]


def test_who_waits_holds_nothing_and_leaves_when_activation_is_switched_off():
    lab = Lab()
    pause(lab)
    Client(lab).execute(send("0x01"))
    with in_trouble(lab, trouble.DATA_FULL):
        lab.sa.execute(START)
        lab.advance(100)
        assert lab.rows(HELD) == []
        lab.sa.execute(STOP)
        lab.advance(61)
        assert readers(lab) == 0
    lab.sa.execute(START)
    lab.advance(5)
    assert lab.bodies() == [b"\x01"]


def test_a_table_that_is_locked_for_an_hour_costs_no_message():
    """Index maintenance, say. Until now a reader waited inside its RECEIVE for as long as it took."""
    lab = Lab(configured(target={"readers": 2}))
    pause(lab)
    for body in ("0x01", "0x02"):
        Client(lab).execute(send(body))
    other = Client(lab)
    other.execute(
        "BEGIN TRANSACTION; SELECT COUNT(*) FROM audit.Landing WITH (TABLOCKX, HOLDLOCK);"
    )
    lab.sa.execute(START)
    lab.advance(HOUR)
    assert dead(lab) == [] and queue_is_on(lab)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (MAX_QUEUE_READERS = 2);")
    other.execute("COMMIT TRANSACTION;")
    lab.advance(91)
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"] and dead(lab) == []


def test_an_end_that_fails_twice_behind_its_landing_leaves_the_dialog_and_the_queue_on():
    lab = Lab()
    client = Client(lab)
    client.execute(send("0x01"))
    lab.sa.execute(
        "CREATE TRIGGER audit.TR_Attempt ON audit.PoisonAttempt AFTER DELETE AS BEGIN "
        "SET NOCOUNT ON; THROW 60001, N'not now', 1; END;"
    )
    lab.sa.execute(
        "EXECUTE audit.usp_RecycleConversation @handle = '" + lab.handle() + "', "
        "@sendEndOfStream = 1;"
    )
    lab.advance(30)
    assert lab.bodies() == [b"\x01"] and dead(lab) == [] and queue_is_on(lab)
    said = [text for _, _, text in lab.errors()]
    assert said[:2] == ["not now", "not now"] and "Next: usp_EndLeaked" in said[2]
    assert ("CO", False) in lab.endpoints()


@pytest.mark.parametrize("number", TROUBLE)
def test_the_senders_reader_waits_it_out_as_well(number):
    """1 a dialog is recycled, its EndDialog comes while there is no room  2 room: it is ended."""
    lab = Lab(configured(initiator={"readers": 1}))
    Client(lab).execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.sa.execute(
        "EXECUTE audit.usp_RecycleConversation @handle = '" + lab.handle() + "', "
        "@sendEndOfStream = 1;"
    )
    lab.advance(5)
    with in_trouble(lab, number):
        lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
        lab.advance(HOUR)
        assert dead(lab) == []
    lab.advance(66)
    assert [state for state, initiator in lab.endpoints() if initiator] == []
    assert dead(lab) == [] and lab.bodies() == [b"\x01"]
    assert lab.rows("SELECT 1 FROM sys.service_queues WHERE is_receive_enabled = 0;") == []


def test_a_reader_under_steady_load_is_another_one_after_ten_minutes():
    """So no counter of its own can come to its end, however long the load lasts."""
    lab = Lab(configured(target={"receive_wait_ms": 9000}))
    client = Client(lab)
    seen = set()
    for _ in range(90):
        client.execute(send("0x01"))
        lab.advance(8)
        seen |= set(lab.rows(READERS))
    assert len(seen) == 2
    assert len(lab.bodies()) == 90


def test_a_backlog_of_half_an_hour_is_landed_though_nothing_new_arrives():
    """Each reader leaves after ten minutes; the queue monitor starts another while there is work."""
    lab = Lab(configured(target={"receive_batch": 1}))
    lab.sa.execute(
        "CREATE TRIGGER audit.TR_Slow ON audit.Landing AFTER INSERT AS WAITFOR DELAY '00:01:00';"
    )
    pause(lab)
    client = Client(lab)
    for _ in range(30):
        client.execute(send("0x01"))
    lab.sa.execute(START)
    lab.advance(45 * 60)
    assert len(lab.bodies()) == 30 and queue_is_on(lab)
