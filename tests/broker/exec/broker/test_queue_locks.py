"""Who waits for whom where a queue's definition changes (F-130, F-485, F-486).

R reads, S sends, D alters the queue, T is the task that switches a poisoned queue off.
"""

import pytest

from redial_broker.instance.instance import Instance
from tests.broker.exec.broker.conftest import BEGIN, SETUP, Client

SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"
OWN = """DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE [//t] TO SERVICE N'//t' ON CONTRACT [//c] WITH ENCRYPTION = OFF;
"""
RECEIVE = "RECEIVE TOP (1) * FROM dbo.TQ"
FAILS = f"BEGIN TRANSACTION; {RECEIVE}; ROLLBACK"
ALTER = "ALTER QUEUE dbo.TQ WITH RETENTION = OFF"
IS_ON = "SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'TQ'"
LOCKS = """
    SELECT l.request_session_id, l.request_mode, l.request_status
    FROM sys.dm_tran_locks AS l JOIN sys.internal_tables AS t
        ON t.object_id = l.resource_associated_entity_id OR
           t.parent_object_id = l.resource_associated_entity_id
    WHERE l.resource_type = N'OBJECT' AND t.parent_object_id = OBJECT_ID(N'dbo.TQ')
    ORDER BY l.request_status, l.request_session_id"""


def made(**switches):
    """A session in a database with the usual objects."""
    client = Client(Instance(switches=switches))
    client.run("CREATE DATABASE sales")
    client.run("USE sales")
    client.run(SETUP)
    return client


def waits(client):
    return client.session.wait is not None


@pytest.fixture
def poisoned():
    """(a session, R): R holds one message of TQ, a second one has been rolled back four times."""
    client = made()
    for _ in range(2):
        client.dialog(SEND)
    reader = client.other()
    reader.run(f"BEGIN TRANSACTION; {RECEIVE}")
    for _ in range(4):
        client.run(FAILS)
    return client, reader


# ---------------------------------------------------------------------- the task
def test_the_task_waits_for_the_open_receive_and_the_queue_is_on_until_then(poisoned):
    client, reader = poisoned
    client.run(FAILS)
    assert client.value(IS_ON) == 1  # T waits
    assert client.rows(LOCKS) == [(reader.session.id, "IX", "GRANT"), (21, "Sch-M", "WAIT")]
    assert client.rows(
        "SELECT command, wait_type, blocking_session_id FROM sys.dm_exec_requests "
        "WHERE session_id = 21"
    ) == [("BRKR TASK", "LCK_M_SCH_M", reader.session.id)]
    reader.run("COMMIT")
    assert client.value(IS_ON) == 0  # R has let go
    assert client.rows(LOCKS) == []


def test_who_reads_and_who_sends_waits_behind_the_task(poisoned):
    # R received; T asks; S sends (waits); R2 reads (waits); R commits; T switches off; S, R2.
    client, reader = poisoned
    client.run(FAILS)
    sender, second = client.other(), client.other()
    sent = sender.send(BEGIN + SEND + "; SELECT @h")
    read = second.send(RECEIVE)
    assert waits(sender) and waits(second)
    reader.run("COMMIT")
    assert not sent.errors and not waits(sender)
    assert [e.number for e in read.errors] == [9617]
    handle = sent.result_sets[-1].rows[0][0]
    assert client.value(f"SELECT GET_TRANSMISSION_STATUS('{handle}')") != ""
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = ON")
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 2


def test_an_open_send_holds_the_task_up_too():
    client = made()
    client.dialog(SEND)
    sender = client.other()
    sender.run("BEGIN TRANSACTION;" + BEGIN + SEND)
    for _ in range(5):
        client.run(FAILS)
    assert client.value(IS_ON) == 1
    sender.run("COMMIT")
    assert client.value(IS_ON) == 0


def test_nobody_in_the_way_it_is_off_at_once():
    client = made()
    client.dialog(SEND)
    for _ in range(5):
        client.run(FAILS)
    assert client.value(IS_ON) == 0
    assert client.error(RECEIVE).number == 9617


def test_by_switch_it_is_off_whoever_reads():
    client = made(poisoned_queue_goes_off="at once")
    for _ in range(2):
        client.dialog(SEND)
    reader = client.other()
    reader.run(f"BEGIN TRANSACTION; {RECEIVE}")
    for _ in range(5):
        client.run(FAILS)
    assert client.value(IS_ON) == 0


@pytest.mark.parametrize("choice, blocked", [(True, True), (False, False)])
def test_without_poison_handling_the_task_may_come_all_the_same_and_changes_nothing(
    choice, blocked
):
    """The published case: handling off, and still SENDs stand behind a BRKR TASK."""
    client = made(poison_task_without_handling=choice)
    client.run("ALTER QUEUE dbo.TQ WITH POISON_MESSAGE_HANDLING (STATUS = OFF)")
    for _ in range(2):
        client.dialog(SEND)
    reader = client.other()
    reader.run(f"BEGIN TRANSACTION; {RECEIVE}")
    for _ in range(5):
        client.run(FAILS)
    sender = client.other()
    sender.send(OWN + SEND)
    assert waits(sender) is blocked
    reader.run("COMMIT")
    assert not waits(sender) and client.value(IS_ON) == 1
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 2


def test_there_is_one_task_however_often_it_is_rolled_back(poisoned):
    client, reader = poisoned
    client.run(FAILS)
    blocked = client.other()
    blocked.send(FAILS)
    assert waits(blocked)
    assert (
        client.value("SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'BRKR TASK'") == 1
    )
    reader.run("COMMIT")
    assert not waits(blocked)


def test_nobody_kills_the_task(poisoned):
    client, _ = poisoned
    client.run(FAILS)
    assert client.error("KILL 21").number == 6107


def test_a_queue_that_is_dropped_first_needs_no_task():
    # R received; D waits to drop the queue; the fifth rollback; R commits; D drops; T has no queue.
    client = made()
    client.run(
        "DROP SERVICE [//t]; CREATE QUEUE dbo.EQ; CREATE SERVICE [//t] ON QUEUE dbo.EQ ([//c])"
    )
    queue = client.session.database.objects["dbo", "tq"]
    reader, dropper = client.other(), client.other()
    reader.run("BEGIN TRANSACTION")
    client.instance.engine.locks.give(reader.session.work(), queue.lock_key, "IX")
    dropper.send("DROP QUEUE dbo.TQ")
    client.instance.queue_tasks.start(queue)
    client.instance.run()
    assert waits(dropper)
    reader.run("COMMIT")
    assert not waits(dropper) and client.value("SELECT OBJECT_ID(N'dbo.TQ')") is None
    assert queue.enabled and not queue.going_off


def test_who_closes_a_cycle_with_the_task_is_the_victim_never_the_task(poisoned):
    # R holds IX and a row; T waits for R; S holds the other row and waits behind T; R wants it.
    client, reader = poisoned
    client.run("CREATE TABLE dbo.rows (k int PRIMARY KEY, v int); INSERT dbo.rows VALUES (1, 0)")
    client.run(FAILS)
    sender = client.other()
    sent = sender.send("BEGIN TRANSACTION; UPDATE dbo.rows SET v = 1;" + BEGIN + SEND)
    read = reader.send("UPDATE dbo.rows SET v = 2")
    assert sorted(e.number for e in (*sent.errors, *read.errors)) == [1205]
    assert "1205" not in str(client.instance.error_log.lines)
    for one in (sender, reader):
        one.run("IF @@TRANCOUNT > 0 ROLLBACK")
    assert client.value(IS_ON) == 0


# ---------------------------------------------------------------------- ALTER QUEUE
def test_alter_queue_waits_for_readers_and_senders_and_who_comes_later_waits_behind_it():
    # R received; D alters (waits); S sends (waits); R commits: D, then S.
    client = made()
    client.dialog(SEND)
    reader, definer, sender = client.other(), client.other(), client.other()
    reader.run(f"BEGIN TRANSACTION; {RECEIVE}")
    definer.send(ALTER)
    sent = sender.send(BEGIN + SEND)
    assert waits(definer) and waits(sender)
    reader.run("COMMIT")
    assert not waits(definer) and not waits(sender) and not sent.errors
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1


def test_who_has_sent_into_the_queue_goes_on_sending_while_alter_queue_waits():
    client = made()
    sender, definer = client.other(), client.other()
    handle = sender.value("BEGIN TRANSACTION;" + BEGIN + SEND + "; SELECT @h")
    definer.send(ALTER)
    sender.run(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'y')")
    assert waits(definer)
    sender.run("COMMIT")
    assert not waits(definer) and client.value("SELECT COUNT(*) FROM dbo.TQ") == 2


def test_a_lock_timeout_ends_a_send_that_waits_behind_it():
    client = made()
    client.dialog(SEND)
    reader, definer, sender = client.other(), client.other(), client.other()
    reader.run(f"BEGIN TRANSACTION; {RECEIVE}")
    definer.send(ALTER)
    sent = sender.send("SET LOCK_TIMEOUT 2000;" + BEGIN + SEND)
    client.instance.advance(3)
    assert [e.number for e in sent.errors] == [1222]
    definer.session.attention()
    client.instance.run()
    reader.run("COMMIT")
    assert client.rows(LOCKS) == []


def test_end_conversation_waits_for_the_other_sides_queue_as_well():
    client = made()
    handle = client.dialog(SEND)
    definer, ender = client.other(), client.other()
    definer.run("BEGIN TRANSACTION; ALTER QUEUE dbo.TQ WITH RETENTION = OFF")
    ended = ender.send(f"END CONVERSATION '{handle}'")
    assert waits(ender)
    definer.run("ROLLBACK")
    assert not waits(ender) and not ended.errors


@pytest.mark.parametrize(
    "choice, altered, begin, blocked",
    [
        ("waits", "TQ", BEGIN, True),
        ("waits", "IQ", BEGIN, False),
        ("waits", "TQ", OWN, True),
        ("own queue", "TQ", BEGIN, False),
        ("own queue", "IQ", BEGIN, True),
        ("own queue", "TQ", OWN, True),
        ("transmits", "TQ", BEGIN, False),
        ("transmits", "IQ", BEGIN, False),
        ("transmits", "TQ", OWN, False),
    ],
)
def test_which_queue_a_send_waits_for_is_a_switch(choice, altered, begin, blocked):
    client = made(send_behind_queue_ddl=choice)
    definer, sender = client.other(), client.other()
    definer.run(f"BEGIN TRANSACTION; ALTER QUEUE dbo.{altered} WITH RETENTION = OFF")
    sent = sender.send(begin + SEND)
    assert waits(sender) is blocked
    definer.run("COMMIT")
    assert not waits(sender) and not sent.errors
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1
    assert client.value("SELECT COUNT(*) FROM sys.transmission_queue") == 0


# ---------------------------------------------------------------------- what is told
def test_the_event_notification_comes_when_the_queue_is_off_and_not_before(poisoned):
    client, reader = poisoned
    client.run("""CREATE QUEUE dbo.EQ; CREATE SERVICE [//e] ON QUEUE dbo.EQ (
        [http://schemas.microsoft.com/SQL/Notifications/PostEventNotification])""")
    client.run("""CREATE EVENT NOTIFICATION went_off ON QUEUE dbo.TQ FOR BROKER_QUEUE_DISABLED
        TO SERVICE '//e', 'current database'""")
    client.run(FAILS)
    assert client.value("SELECT COUNT(*) FROM dbo.EQ") == 0
    reader.run("COMMIT")
    (row,) = client.rows("SELECT message_type_name, CONVERT(xml, message_body) FROM dbo.EQ")
    assert row[0] == "http://schemas.microsoft.com/SQL/Notifications/EventNotification"
    assert "<EventType>BROKER_QUEUE_DISABLED</EventType>" in str(row[1])
