"""key = single: one everlasting dialog, found in sys.conversation_endpoints by its handle."""

import pytest

from redial_broker.exec.objects import SYSTEM_VIEWS
from tests.installed import rendered, split

from .bare import installer
from .lab import Client, Lab, configured, send

OPEN = (
    "SELECT conversation_handle FROM sys.conversation_endpoints "
    "WHERE is_initiator = 1 AND state IN ('SO', 'CO');"
)


@pytest.fixture
def lab():
    return Lab(configured(conversation={"key": "single", "recycle": "never"}))


@pytest.fixture
def client(lab):
    return Client(lab)


def everlasting(lab: Lab) -> str:
    ((handle,),) = lab.rows(OPEN)
    return handle


def test_every_session_sends_on_the_same_dialog_and_no_row_leads_to_it(lab, client):
    """Feature reuse of dialogs: seed 001, "a query on the sys.conversation_endpoints view"."""
    client.execute(send("0x01") + send("0x02"))
    Client(lab).execute(send("0x03"))
    lab.advance(40 * 86_400)
    client.execute(send("0x04"))
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03", b"\x04"]
    assert len(lab.endpoints()) == 2
    assert lab.rows("SELECT COUNT(*) FROM audit.SessionConversations;") == [(0,)]


def test_a_send_asks_the_catalog_for_one_handle_never_for_all_endpoints(lab, client, monkeypatch):
    """Whether the view can be sought by anything else is unknown (F-153)."""
    asked = []
    view = SYSTEM_VIEWS["sys", "conversation_endpoints"]
    compute = view.compute
    monkeypatch.setattr(view, "compute", lambda s, db: asked.append(1) or compute(s, db))
    client.execute(send("0x01") + "SELECT COUNT(*) FROM sys.conversation_endpoints;")
    assert asked == [1]
    asked.clear()
    client.execute(send("0x02"))
    Client(lab).execute("BEGIN TRANSACTION;" + send("0x03") + send("0x04") + "COMMIT;")
    assert asked == []
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03", b"\x04"]


def test_the_dialog_of_an_installation_without_copies_is_drained_and_another_begun(lab, client):
    client.execute(send("0x01"))
    first = everlasting(lab)
    lab.sa.execute(
        "DELETE FROM audit.Setting WHERE Name = N'conversation.copies'; "
        "DROP TABLE audit.Everlasting; DELETE FROM audit.SentMessage;"
    )
    for sql in installer(lab.config):
        lab.sa.submit(sql)
        lab.advance(5)
        assert lab.sa.out.finished and not lab.sa.errors
    client.execute(send("0x02"))
    assert everlasting(lab) != first
    assert lab.rows("SELECT Handle FROM audit.Everlasting;") == [(everlasting(lab),)]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_its_senders_wait_for_each_other(lab, client):
    """Seed 001: sending "locks the dialog until the transaction commits"; a pool is the answer."""
    client.execute(send("0x01"))
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x02"))
    other.submit(send("0x03"))
    assert not other.out.finished
    client.execute("COMMIT;")
    assert other.out.finished and not other.errors
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]


@pytest.mark.parametrize("end", ["COMMIT;", "ROLLBACK;"])
def test_of_two_first_users_the_second_waits_and_there_is_one_dialog(lab, client, end):
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    other.submit(send("0x02"))
    assert not other.out.finished
    client.execute(end)
    assert other.out.finished and not other.errors
    assert lab.bodies() == ([b"\x01"] if end == "COMMIT;" else []) + [b"\x02"]
    everlasting(lab)


def test_a_dialog_begun_beside_another_first_users_is_ended_and_the_others_is_used(lab, client):
    """The look-up finds nothing, BEGIN DIALOG waits for the other, then there is one (F-153)."""
    client.execute(send("0x01"))
    first = everlasting(lab)
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_AcquireConversation'));")
    blinded = text.replace("IF @handle IS NOT NULL\n        RETURN 0;", "SET @handle = NULL;", 1)
    assert blinded != text
    lab.sa.execute("ALTER " + blinded[blinded.index("PROCEDURE") :])
    Client(lab).execute(send("0x02"))
    lab.advance(60)
    assert everlasting(lab) == first
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert lab.rows("SELECT Messages FROM audit.ConversationLog WHERE EndedUtc IS NOT NULL;") == [
        (0,)
    ]
    assert lab.errors() == []


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "BEGIN TRANSACTION;"])
def test_a_dead_handle_is_replaced_and_the_message_arrives(lab, client, settings):
    """Seed 001: "SEND logic catches the invalid dialog" and "begins a new dialog"."""
    client.execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{everlasting(lab)}' WITH CLEANUP;")
    client.execute(settings + send("0x02") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_after_an_error_the_next_sender_begins_a_new_one(lab, client):
    client.execute(send("0x01"))
    first = everlasting(lab)
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target}' WITH ERROR = 60 DESCRIPTION = N'no';")
    client.execute(send("0x02") + send("0x03"))
    assert everlasting(lab) != first
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]


def test_an_error_met_in_the_middle_of_a_callers_transaction_costs_it_nothing(lab, client):
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    client.execute(send("0x01"))
    client.execute("CREATE TABLE dbo.Orders (Id int);")
    lab.sa.execute(f"END CONVERSATION '{everlasting(lab)}' WITH CLEANUP;")
    client.execute(
        "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);"
        + send("0x02")
        + send("0x03")
        + "COMMIT;"
    )
    assert lab.rows("SELECT Id FROM dbo.Orders;") == [(1,)]
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]


def test_what_is_resent_goes_on_a_private_dialog_that_no_sender_finds(lab, client):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x01"))
    handle = everlasting(lab)
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending @handle = '{handle}', @code = -8489;")
    client.execute(send("0x02"))
    groups = lab.rows(
        "SELECT conversation_group_id, COUNT(*) FROM sys.conversation_endpoints "
        f"WHERE is_initiator = 1 AND conversation_handle <> '{handle}' "
        "GROUP BY conversation_group_id;"
    )
    assert [number for _, number in groups] == [1, 1]
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"]


def test_a_closed_gate_refuses_and_its_closing_waits_for_open_senders(lab, client):
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    closer = Client(lab)
    closer.submit("UPDATE audit.Gate SET IsOpen = 0;")
    assert not closer.out.finished
    client.execute(send("0x02") + "COMMIT;")
    assert closer.out.finished
    assert client.fail(send("0x03")) == 50102
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_closing_waits_for_senders_and_nothing_follows_end_of_stream(lab, client):
    client.execute("BEGIN TRANSACTION;" + send("0x01"))
    closer, other = Client(lab), Client(lab)
    closer.submit("EXECUTE audit.usp_CloseEverlasting;")
    other.submit(send("0x02"))
    assert not closer.out.finished and not other.out.finished
    client.execute("COMMIT;")
    assert closer.out.finished and other.out.finished and not closer.errors and not other.errors
    lab.advance(60)
    assert [row[:2] for row in lab.landed()] == [
        (0, "//redial/audit/event"),
        (1, "EndOfStream"),
        (0, "//redial/audit/event"),
    ]
    assert lab.rows("SELECT COUNT(EndedUtc), COUNT(*) FROM audit.ConversationLog;") == [(1, 2)]


def test_a_dialog_that_was_told_to_close_is_not_sent_on_while_it_is_open(lab, client):
    """The target's answer has not come yet: the state alone would lead senders to it."""
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    lab.sa.execute("EXECUTE audit.usp_CloseEverlasting;")
    client.execute(send("0x02"))
    assert len(lab.rows(OPEN)) == 2
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"]
    everlasting(lab)


def test_closing_inside_a_transaction_is_refused_and_without_a_dialog_does_nothing(lab, client):
    assert client.fail("BEGIN TRANSACTION; EXECUTE audit.usp_CloseEverlasting;") == 50122
    client.execute("IF @@TRANCOUNT > 0 ROLLBACK;")
    client.execute("EXECUTE audit.usp_CloseEverlasting;")
    assert lab.endpoints() == []


def test_the_target_ends_first_when_uninstall_drains(lab, client):
    """EndOfStream: the target ends first."""
    client.execute(send("0x01"))
    for batch in split(rendered(lab.config)["uninstall.sql"]):
        lab.sa.submit(batch.sql)
        lab.advance(100)
        assert lab.sa.out.finished and not lab.sa.errors, lab.sa.errors
    assert [kind for _, kind, _ in lab.landed()] == ["//redial/audit/event", "EndOfStream"]
    assert lab.rows("SELECT COUNT(*) FROM sys.services WHERE name LIKE N'//redial/%';") == [(0,)]
