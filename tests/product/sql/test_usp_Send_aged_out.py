"""recycle = aged_out: a send replaces a dialog whose time has come, under the row it owns."""

import re

import pytest

from .lab import Client, Lab, configured, send

EVENT = "//redial/audit/event"


def aged_lab(key: str = "spid", **aged_out: int) -> Lab:
    limits = {"after_seconds": 0, "after_messages": 0, "spread_seconds": 0} | aged_out
    return Lab(configured(conversation={"key": key, "recycle": "aged_out"}, aged_out=limits))


def log(lab: Lab) -> list[tuple]:
    """(messages, told, ended) of each dialog begun, oldest first."""
    return lab.rows(
        "SELECT Messages, CASE WHEN EndOfStreamUtc IS NULL THEN 0 ELSE 1 END, "
        "CASE WHEN EndedUtc IS NULL THEN 0 ELSE 1 END FROM audit.ConversationLog "
        "ORDER BY BegunUtc, ISNULL(EndOfStreamUtc, '99990101');"
    )


def timers(lab: Lab) -> list[tuple]:
    return lab.rows(
        "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE dialog_timer > '20000101';"
    )


def test_a_dialog_of_its_age_is_closed_by_its_sender_and_the_next_begun_in_the_same_row():
    """Feature recycle by age: seed 002, what its author settled on: age the dialog in the send
    procedure, no timer, so no activated procedure ever wants the row.
    """
    lab = aged_lab(after_seconds=3600)
    client = Client(lab)
    client.execute(send("0x01"))
    first = lab.handle()
    lab.advance(3599)
    client.execute(send("0x02"))
    assert lab.handle() == first
    lab.advance(1)
    client.execute(send("0x03"))
    assert lab.handle() != first
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 1
    assert log(lab) == [(2, 1, 1), (None, 0, 0)]
    assert timers(lab) == [(0,)]
    assert lab.errors() == []


def test_a_dialog_of_its_number_of_messages_is_replaced():
    """Feature recycle by message count: the dialog pool of 2008 counted its sends."""
    lab = aged_lab(after_messages=2)
    client = Client(lab)
    for body in ("0x01", "0x02", "0x03", "0x04", "0x05"):
        client.execute(send(body))
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"]
    assert log(lab) == [(2, 1, 1), (2, 1, 1), (None, 0, 0)]


@pytest.mark.parametrize(("seconds", "expected"), [(3600, 2), (10, 3)])
def test_of_two_limits_the_one_reached_first_counts(seconds, expected):
    lab = aged_lab(after_seconds=seconds, after_messages=3)
    client = Client(lab)
    for body in ("0x01", "0x02", "0x03", "0x04"):
        lab.advance(6)
        client.execute(send(body))
    assert len(log(lab)) == expected - (seconds == 10)
    lab.advance(20)
    client.execute(send("0x05"))
    assert len(log(lab)) == expected
    assert len(lab.bodies()) == 5


def test_the_spreads_keep_dialogs_begun_together_from_ending_together():
    lab = aged_lab(
        "application", after_seconds=100, spread_seconds=50, after_messages=10, spread_messages=5
    )
    client = Client(lab)
    client.execute("".join(send(key=f"N'{i}'") for i in range(12)))
    found = lab.rows(
        "SELECT DATEDIFF(second, cl.BegunUtc, sc.RecycleAtUtc), sc.RecycleAtMessages "
        "FROM audit.SessionConversations AS sc "
        "INNER JOIN audit.ConversationLog AS cl ON cl.Handle = sc.Handle;"
    )
    ages, counts = {row[0] for row in found}, {row[1] for row in found}
    assert len(ages) > 3 and min(ages) >= 100 and max(ages) <= 150
    assert len(counts) > 1 and min(counts) >= 10 and max(counts) <= 15


def test_in_a_callers_transaction_closing_and_beginning_are_undone_with_it():
    """And a transaction that has sent on a dialog goes on with it, whatever the count (F-464)."""
    lab = aged_lab(after_messages=1)
    client = Client(lab)
    client.execute(send("0x01"))
    first = lab.handle()
    client.execute("BEGIN TRANSACTION;" + send("0x02") + send("0x03") + "ROLLBACK;")
    assert lab.handle() == first
    assert lab.bodies() == [b"\x01"]
    client.execute("BEGIN TRANSACTION;" + send("0x02") + send("0x03") + "COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert log(lab) == [(1, 1, 1), (None, 0, 0)]


def break_closing(lab: Lab) -> None:
    """From now on the dialog to be closed is found dead between the look at it and EndOfStream."""
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_SendEndOfStream'));")
    sending = "    SEND ON CONVERSATION @handle"
    assert text.count(sending) == 1
    text = text.replace(sending, f"    END CONVERSATION @handle WITH CLEANUP;\n{sending}")
    lab.sa.execute(re.sub(r"CREATE\s+PROCEDURE", "ALTER PROCEDURE", text, count=1))


def test_a_dialog_found_dead_while_it_is_closed_makes_the_call_start_over_not_fail():
    """Own transaction: doomed and begun anew; the next attempt closes nothing, so it cannot meet
    the same again until it gives up (F-150).
    """
    lab = aged_lab(after_messages=1)
    client = Client(lab)
    client.execute(send("0x01"))
    break_closing(lab)
    client.execute(send("0x02"))
    assert client.value("@@TRANCOUNT") == 0
    assert lab.bodies() == [b"\x01", b"\x02"]


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_a_dialog_found_dead_while_it_is_closed_does_not_cost_the_caller_its_work(settings):
    lab = aged_lab(after_messages=1)
    client = Client(lab)
    lab.sa.execute("CREATE TABLE dbo.Orders (Id int);")
    client.execute(send("0x01"))
    first = lab.handle()
    break_closing(lab)
    client.execute(
        settings
        + "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);"
        + send("0x02")
        + "COMMIT;"
    )
    assert lab.rows("SELECT Id FROM dbo.Orders;") == [(1,)]
    assert lab.handle() != first
    assert lab.bodies() == [b"\x01", b"\x02"]


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "BEGIN TRANSACTION;"])
def test_an_aged_dialog_that_is_dead_already_is_replaced_without_being_closed(settings):
    lab = aged_lab(after_seconds=10)
    client = Client(lab)
    client.execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    lab.advance(60)
    client.execute(settings + send("0x02") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_dialog_begun_before_there_were_limits_is_replaced_by_the_next_send():
    """A configuration that had recycle = never or timer before."""
    lab = aged_lab(after_seconds=3600)
    client = Client(lab)
    client.execute(send("0x01"))
    first = lab.handle()
    lab.sa.execute("UPDATE audit.SessionConversations SET RecycleAtUtc = NULL;")
    client.execute(send("0x02"))
    assert lab.handle() != first
    assert log(lab) == [(1, 1, 1), (None, 0, 0)]


def test_two_sessions_of_one_key_close_an_aged_dialog_once():
    lab = aged_lab("application", after_messages=1)
    client, other = Client(lab), Client(lab)
    client.execute(send("0x01", key="N'k'"))
    client.execute("BEGIN TRANSACTION;" + send("0x02", key="N'k'"))
    other.submit(send("0x03", key="N'k'"))
    assert not other.out.finished
    client.execute("COMMIT;")
    assert other.out.finished and not other.errors
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 2
    assert log(lab) == [(1, 1, 1), (1, 1, 1), (None, 0, 0)]


def test_a_trigger_on_every_insert_recycles_by_count_and_loses_nothing():
    """Seed 002's load: usp_SendMessage in triggers, many at a time, no deadlock to be victim of."""
    lab = aged_lab(after_messages=3)
    lab.sa.execute("CREATE TABLE dbo.Orders (Id int);")
    lab.sa.execute(
        f"CREATE TRIGGER dbo.OrdersAudit ON dbo.Orders AFTER INSERT AS BEGIN {send('0x07')} END;"
    )
    clients = [Client(lab) for _ in range(2)]
    for i in range(8):
        clients[i % 2].execute(f"INSERT INTO dbo.Orders VALUES ({i});")
    assert lab.bodies() == [b"\x07"] * 8
    assert sorted(log(lab), key=str) == [(3, 1, 1), (3, 1, 1), (None, 0, 0), (None, 0, 0)]


FAILING = {
    "the log's row of the next dialog": "CHECK (Handle = '00000000-0000-0000-0000-000000000000')",
    "the end of the last one": "CHECK (EndOfStreamUtc IS NULL)",
}


@pytest.mark.parametrize("what", FAILING)
@pytest.mark.parametrize("key", ["spid", "pool"])
def test_a_caller_who_goes_on_after_an_error_leaves_no_way_to_a_dialog_that_is_closed(key, what):
    """1 A dialog's time has come. 2 In a caller's transaction EndOfStream is sent, and what follows
    fails. 3 The caller catches that and commits. 4 His next message is not sent behind EndOfStream,
    where nobody would read it."""
    lab = aged_lab(key, after_messages=1)
    client = Client(lab)
    client.execute(send("0x01"))
    lab.sa.execute(
        "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF; ALTER TABLE "
        f"audit.ConversationLog WITH NOCHECK ADD CONSTRAINT CK_Never {FAILING[what]};"
    )
    client.execute(
        f"BEGIN TRANSACTION; BEGIN TRY {send('0x02')} END TRY BEGIN CATCH "
        "IF ERROR_NUMBER() <> 547 THROW; END CATCH; COMMIT TRANSACTION;"
    )
    assert (
        lab.rows(
            "SELECT ce.state FROM audit.SessionConversations AS sc INNER JOIN "
            "sys.conversation_endpoints AS ce ON ce.conversation_handle = sc.Handle;"
        )
        == []
    )
    lab.sa.execute("ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_Never;")
    client.execute(send("0x03"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    assert lab.bodies() == [b"\x01", b"\x03"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 1


def test_a_dialog_that_could_not_be_closed_is_closed_by_the_next_send():
    """The group does not come within the caller's LOCK_TIMEOUT, and the caller goes on."""
    lab = aged_lab(after_messages=1)
    client, other = Client(lab), Client(lab)
    client.execute(send("0x01"))
    other.execute(
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier = (SELECT Handle FROM "
        "audit.SessionConversations); BEGIN CONVERSATION TIMER (@h) TIMEOUT = 9999;"
    )
    client.submit(
        f"SET LOCK_TIMEOUT 100; BEGIN TRANSACTION; BEGIN TRY {send('0x02')} END TRY "
        "BEGIN CATCH IF ERROR_NUMBER() <> 1222 THROW; END CATCH; COMMIT TRANSACTION;"
    )
    lab.advance(1)
    assert client.out.finished and not client.errors
    other.execute("COMMIT TRANSACTION;")
    client.execute(send("0x03"))
    assert lab.bodies() == [b"\x01", b"\x03"]
    assert log(lab) == [(1, 1, 1), (None, 0, 0)]
