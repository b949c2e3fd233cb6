"""order = key: every message of a key carries the next number of the key, across its dialogs."""

import pytest

from .lab import Client, Lab, configured, send


def keyed_lab(key: str = "application", recycle: str = "timer", **sections: dict) -> Lab:
    chosen = {"key": key, "order": "key", "recycle": recycle}
    return Lab(configured(conversation=chosen, **sections))


@pytest.fixture
def lab():
    return keyed_lab()


@pytest.fixture
def client(lab):
    return Client(lab)


def numbers(lab: Lab, key: str = "k") -> list[tuple]:
    """(number in the key, body) of what has landed of one key, by number."""
    return lab.rows(
        "SELECT KeySequence, Body FROM audit.Landing "
        f"WHERE ConversationKey = N'{key}' ORDER BY KeySequence;"
    )


def last(lab: Lab) -> list[tuple]:
    return lab.rows("SELECT ConversationKey, LastSequence FROM audit.KeySequence ORDER BY 1;")


def test_the_messages_of_each_key_are_numbered_without_a_gap(lab, client):
    other = Client(lab)
    for body, key, sender in (("0x01", "k", client), ("0x11", "m", client), ("0x02", "k", other)):
        sender.execute(send(body, key=f"N'{key}'"))
    assert numbers(lab) == [(1, b"\x01"), (2, b"\x02")]
    assert numbers(lab, "m") == [(1, b"\x11")]
    assert last(lab) == [("k", 2), ("m", 1)]


def test_the_numbers_go_on_over_a_recycled_dialog(lab, client):
    """Two dialogs of one key are received side by side across a recycle (origins: choices): only the
    number tells their order.
    """
    client.execute(send("0x01", key="N'k'"))
    lab.advance(2 * 3600)
    assert lab.rows("SELECT COUNT(*) FROM audit.SessionConversations;") == [(0,)]
    client.execute(send("0x02", key="N'k'"))
    assert numbers(lab) == [(1, b"\x01"), (2, b"\x02")]
    assert lab.rows(
        "SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing WHERE KeySequence > 0;"
    ) == [(2,)]


def test_the_numbers_go_on_over_a_dialog_aged_out():
    lab = keyed_lab(recycle="aged_out", aged_out={"after_seconds": 0, "after_messages": 2})
    client = Client(lab)
    for i in range(1, 6):
        client.execute(send(f"0x0{i}", key="N'k'"))
    assert numbers(lab) == [(i, bytes([i])) for i in range(1, 6)]
    assert lab.rows("SELECT COUNT(*) FROM audit.ConversationLog;") == [(3,)]


def test_with_key_spid_the_session_is_the_key():
    lab = keyed_lab("spid")
    client = Client(lab)
    client.execute(send("0x01") + send("0x02"))
    spid = client.value("@@SPID")
    assert numbers(lab, str(spid)) == [(1, b"\x01"), (2, b"\x02")]


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TRANSACTION sp"])
def test_a_rolled_back_send_gives_its_number_back(lab, client, undo):
    """ROLLBACK to a savepoint takes the number too: the caller's own transaction goes on."""
    client.execute(send("0x01", key="N'k'"))
    client.execute(
        "BEGIN TRANSACTION; SAVE TRANSACTION sp;" + send("0x09", key="N'k'") + f"{undo};"
        "IF @@TRANCOUNT = 0 BEGIN TRANSACTION;" + send("0x02", key="N'k'") + "COMMIT;"
    )
    assert numbers(lab) == [(1, b"\x01"), (2, b"\x02")]
    assert last(lab) == [("k", 2)]


def test_a_refused_send_takes_no_number(lab, client):
    client.execute(send("0x01", key="N'k'"))
    assert client.fail(send(key="N'k'", message_type="EndOfStream")) == 50100
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 0;")
    assert client.fail(send(key="N'k'")) == 50102
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 1;")
    client.execute(send("0x02", key="N'k'"))
    assert numbers(lab) == [(1, b"\x01"), (2, b"\x02")]


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_a_send_that_fails_in_the_callers_transaction_takes_no_number(lab, client, settings):
    """The number is written after the SEND (F-147)."""
    client.execute(send("0x01", key="N'k'"))
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    lab.sa.execute("DROP SERVICE [//redial/audit/initiator];")
    client.submit(settings + "BEGIN TRANSACTION;" + send("0x09", key="N'k'"))
    assert client.errors
    client.execute("IF XACT_STATE() = 1 COMMIT; ELSE IF @@TRANCOUNT > 0 ROLLBACK;")
    assert last(lab) == [("k", 1)]


@pytest.mark.parametrize("settings", ["", "BEGIN TRANSACTION;"])
def test_a_dead_handle_leaves_no_gap_and_no_number_twice(lab, client, settings):
    client.execute(send("0x01", key="N'k'"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute(
        settings
        + send("0x02", key="N'k'")
        + send("0x03", key="N'k'")
        + "IF @@TRANCOUNT > 0 COMMIT;"
    )
    assert numbers(lab) == [(1, b"\x01"), (2, b"\x02"), (3, b"\x03")]


def test_a_resend_keeps_the_numbers_because_it_keeps_the_bytes(lab, client):
    """Feature resend of pending: seed 004. What is pending goes to a dialog of its own, stamp and all,
    while the key goes on counting on another.
    """
    client.execute(send("0x01", key="N'k'"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x02", key="N'k'") + send("0x03", key="N'k'"))
    handle = lab.handle()
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending @handle = '{handle}', @code = -8489;")
    client.execute(send("0x04", key="N'k'"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert numbers(lab) == [(i, bytes([i])) for i in range(1, 5)]


def test_two_first_users_of_a_key_get_one_and_two(lab, client):
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x01", key="N'k'"))
    other.submit(send("0x02", key="N'k'"))
    client.execute("COMMIT;")
    assert other.out.finished and not other.errors
    assert numbers(lab) == [(1, b"\x01"), (2, b"\x02")]


def test_the_key_and_its_number_travel_with_the_message_who_sent_it_only_if_asked(lab, client):
    client.execute(send("0x01", key="N'k'"))
    ((at, login),) = lab.rows("SELECT SentUtc, SenderLogin FROM audit.Landing;")
    assert at is not None and login is None
    who = keyed_lab(envelope={"who": True})
    Client(who).execute(send("0x01", key="N'k'"))
    assert who.rows("SELECT SenderLogin FROM audit.Landing;") == [("sa",)]
