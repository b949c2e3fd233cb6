"""key = message: a dialog for each message, the baseline; both ends are gone when it is read."""

import pytest

from tests.installed import rendered, split

from .lab import Client, Lab, configured, send

EVENT = "//redial/audit/event"


@pytest.fixture
def lab():
    return Lab(configured(conversation={"key": "message", "recycle": "never"}))


@pytest.fixture
def client(lab):
    return Client(lab)


def log(lab: Lab) -> list[tuple]:
    return lab.rows(
        "SELECT Messages, CASE WHEN EndedUtc IS NULL THEN 0 ELSE 1 END FROM audit.ConversationLog;"
    )


def test_each_message_has_a_dialog_that_both_ends_close(lab, client):
    """Seed 001: what most samples do, one message each way. EndOfStream: the target ends first."""
    client.execute(send("0x01") + send("0x02"))
    assert [row[:2] for row in lab.landed()] == [(0, EVENT), (1, "EndOfStream")] * 2
    assert lab.endpoints() == [("CD", 0), ("CD", 0)]
    assert log(lab) == [(1, 1), (1, 1)]
    assert lab.rows("SELECT COUNT(*) FROM audit.SessionConversations;") == [(0,)]


def test_no_sender_waits_for_another(lab, client):
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    other.execute(send("0x02"))
    client.execute("COMMIT;")
    assert lab.bodies() == [b"\x02", b"\x01"]


def test_a_callers_rollback_takes_message_and_dialog_with_it(lab, client):
    client.execute("BEGIN TRANSACTION;" + send("0x01") + send("0x02") + "ROLLBACK;")
    assert lab.endpoints() == [] and log(lab) == []


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_a_caller_who_goes_on_after_an_error_commits_no_dialog_without_a_message(settings):
    """The body is refused by its message type after the dialog was begun."""
    lab = Lab(configured(conversation={"key": "message", "recycle": "never"}))
    client = Client(lab)
    lab.sa.execute(f"ALTER MESSAGE TYPE [{EVENT}] VALIDATION = WELL_FORMED_XML;")
    client.submit(settings + "BEGIN TRANSACTION;" + send("0x01"))
    assert client.errors
    client.execute("IF XACT_STATE() = 1 COMMIT; ELSE IF @@TRANCOUNT > 0 ROLLBACK;")
    lab.advance(60)
    assert ("SO", 1) not in lab.endpoints() and ("CO", 1) not in lab.endpoints()


def test_closing_the_gate_waits_for_open_senders_and_then_refuses(lab, client):
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    closer = Client(lab)
    closer.submit("UPDATE audit.Gate SET IsOpen = 0;")
    assert not closer.out.finished
    client.execute("COMMIT;")
    assert closer.out.finished
    assert client.fail(send("0x02")) == 50102
    assert lab.bodies() == [b"\x01"]


def test_uninstall_waits_for_what_is_pending(lab, client):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x01"))
    batches = split(rendered(lab.config)["uninstall.sql"])
    numbers = []
    for batch in batches:
        lab.sa.submit(batch.sql)
        lab.advance(100)
        numbers += [e.number for e in lab.sa.errors]
    assert numbers == [50140]
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    for batch in batches:
        lab.sa.execute(batch.sql)
    assert lab.bodies() == [b"\x01"]
