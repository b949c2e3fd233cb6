"""key = application: callers who name the same key share a dialog, and its order."""

import pytest

from .lab import Client, Lab, configured, send

LONGEST = "Ж" * 199 + "é"
"""200 characters, none of them ASCII."""


@pytest.fixture
def lab():
    return Lab(configured(conversation={"key": "application", "recycle": "never"}))


@pytest.fixture
def client(lab):
    return Client(lab)


def keys(lab: Lab) -> list[str]:
    return [key for (key,) in lab.rows("SELECT ConversationKey FROM audit.SessionConversations;")]


def test_related_messages_of_two_sessions_share_a_dialog_and_its_order(lab, client):
    """Feature affinity key other than SPID: DCAC's key of the application; reuse of dialogs: seed 000
    binds a dialog to @@SPID, so what two sessions send about one order arrives in any order.
    """
    client.execute(send("0x01", key="N'order 7'"))
    Client(lab).execute(send("0x02", key="N'order 7'"))
    client.execute(send("0x03", key="N'order 7'"))
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert [row[0] for row in lab.landed()] == [0, 1, 2]
    assert keys(lab) == ["order 7"]


def test_two_keys_of_one_session_have_two_dialogs(lab, client):
    client.execute(send("0x01", key="N'a'") + send("0x02", key="N'b'"))
    assert sorted(keys(lab)) == ["a", "b"]
    assert lab.rows("SELECT COUNT(DISTINCT Handle) FROM audit.SessionConversations;") == [(2,)]


def test_the_second_session_of_a_key_waits_for_the_first_to_commit(lab, client):
    """Seed 002, Erland Sommarskog: processes that share a handle serialise on the look-up."""
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x01", key="N'k'"))
    other.submit(send("0x02", key="N'k'"))
    assert not other.out.finished
    client.execute("COMMIT;")
    assert other.out.finished and not other.errors
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert len(lab.endpoints()) == 2


def test_the_second_first_user_of_a_key_begins_it_when_the_first_rolls_back(lab, client):
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x01", key="N'k'"))
    other.submit(send("0x02", key="N'k'"))
    client.execute("ROLLBACK;")
    assert other.out.finished and not other.errors
    assert lab.bodies() == [b"\x02"]
    assert len(lab.endpoints()) == 2


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_a_key_taken_meanwhile_does_not_cost_the_caller_its_work(lab, client, settings):
    """2627 on the row: with XACT_ABORT ON it would doom what the caller did before."""
    lab.sa.execute("CREATE TABLE dbo.Orders (Id int);")
    other = Client(lab)
    client.execute("BEGIN TRANSACTION;" + send("0x01", key="N'k'"))
    other.submit(
        settings
        + "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);"
        + send("0x02", key="N'k'")
    )
    client.execute("COMMIT;")
    assert other.out.finished and not other.errors
    other.execute("COMMIT;")
    assert lab.rows("SELECT Id FROM dbo.Orders;") == [(1,)]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_who_goes_on_after_a_first_use_that_failed_leaves_no_row_of_a_dead_dialog(lab, client):
    """The dialog is begun, its handle in the row, the log's row fails; the caller commits."""
    failing = send("0x01", key="N'k'")
    lab.sa.execute(
        "ALTER TABLE audit.ConversationLog ADD CONSTRAINT CK_Never CHECK (ConversationKey IS NULL);"
    )
    client.execute(
        f"BEGIN TRANSACTION; BEGIN TRY {failing} "
        "END TRY BEGIN CATCH SELECT 1; END CATCH; COMMIT TRANSACTION;"
    )
    assert keys(lab) == []
    lab.sa.execute("ALTER TABLE audit.ConversationLog DROP CONSTRAINT CK_Never;")
    client.execute(send("0x02", key="N'k'"))
    assert lab.bodies() == [b"\x02"]


def test_sessions_of_different_keys_do_not_wait(lab, client):
    client.execute("BEGIN TRANSACTION;" + send("0x01", key="N'a'"))
    Client(lab).execute(send("0x02", key="N'b'"))
    client.execute("COMMIT;")
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"]


@pytest.mark.parametrize("key", ["NULL", "N''", "REPLICATE"])
def test_no_key_an_empty_one_and_one_of_201_characters_are_refused(lab, client, key):
    declared = "DECLARE @k nvarchar(max) = REPLICATE(N'x', 201);" if key == "REPLICATE" else ""
    assert client.fail(declared + send(key="@k" if declared else key)) == 50100
    assert "@key must be 1 to 200 characters" in client.errors[0].text
    assert keys(lab) == [] and client.value("@@TRANCOUNT") == 0


def test_a_key_of_200_characters_of_any_script_is_kept_whole(lab, client):
    client.execute(send("0x01", key=f"N'{LONGEST}'") + send("0x02", key=f"N'{LONGEST}'"))
    assert keys(lab) == [LONGEST]
    assert lab.rows("SELECT ConversationKey FROM audit.ConversationLog;") == [(LONGEST,)]


def test_keys_the_database_holds_equal_share_a_dialog(lab, client):
    """Spaces at the end and, here, case: the key has the database's collation."""
    for body, key in (("0x01", "N'Key'"), ("0x02", "N'key  '"), ("0x03", "N' key'")):
        client.execute(send(body, key=key))
    assert len(keys(lab)) == 2
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]


def test_with_recycle_never_no_dialog_has_a_timer_and_none_is_replaced(lab, client):
    """Seed 001: keep a dialog until the work that uses it is complete."""
    client.execute(send("0x01", key="N'k'"))
    handle = lab.handle()
    assert lab.rows(
        "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE dialog_timer > '20000101';"
    ) == [(0,)]
    lab.advance(10 * 86_400)
    client.execute(send("0x02", key="N'k'"))
    assert lab.handle() == handle
    assert [kind for _, kind, _ in lab.landed()] == ["//redial/audit/event"] * 2


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "BEGIN TRANSACTION;"])
def test_a_dead_handle_is_replaced_in_the_row_of_its_key(lab, client, settings):
    """Thread ST#188: "The conversation handle is not found" must not reach the caller."""
    client.execute(send("0x01", key="N'k'"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute(settings + send("0x02", key="N'k'") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert keys(lab) == ["k"]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_an_error_from_the_target_drops_the_row_and_the_next_sender_begins_anew(lab, client):
    """CoreyKaylor's empty catches: a failed dialog stayed in his table and every send raised."""
    client.execute(send("0x01", key="N'k'"))
    first = lab.handle()
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target}' WITH ERROR = 60 DESCRIPTION = N'no';")
    assert keys(lab) == []
    client.execute(send("0x02", key="N'k'"))
    assert lab.handle() != first
    assert lab.bodies() == [b"\x01", b"\x02"]
