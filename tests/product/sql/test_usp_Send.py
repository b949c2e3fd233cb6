"""usp_Send: sends or raises, in its own transaction and in a caller's."""

import re

import pytest

from .bare import another
from .lab import AUDIT, Client, Lab, configured, send
from .two import SHOP, Two

EVENT, NOTE = "//redial/audit/event", "//redial/audit/note"
WHOLE = "EXECUTE audit.usp_Send @messageBody = 0x01;"


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def client(lab):
    return Client(lab)


def test_messages_of_one_session_land_in_order_on_one_dialog(lab, client):
    """Feature reuse of dialogs: seed 001, whose author saved 30% against a dialog per message."""
    for body in ("0x01", "0x02", "0x03"):
        client.execute(send(body))
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert [row[0] for row in lab.landed()] == [0, 1, 2]
    assert len(lab.rows("SELECT 1 FROM audit.ConversationLog;")) == 1


def test_one_argument_is_a_whole_call(lab, client):
    client.execute(WHOLE + "EXECUTE audit.usp_Send DEFAULT, DEFAULT, DEFAULT, DEFAULT, 0x02;")
    client.execute(send("0x03"))
    assert lab.landed() == [(n, EVENT, bytes([n + 1])) for n in range(3)]


@pytest.mark.parametrize("given", ["@fromService", "@toService", "@onContract", "@messageType"])
@pytest.mark.parametrize("value", ["NULL", "N''", "N'//redial/audit/Event '"])
def test_a_name_that_is_passed_is_looked_at_a_default_fills_nothing_in(lab, client, given, value):
    assert client.fail(f"EXECUTE audit.usp_Send {given} = {value}, @messageBody = 0x01;") == 50100
    assert re.findall(r"@\w+", client.errors[0].text) == [given]
    assert lab.endpoints() == []


def test_the_body_is_never_left_out_by_mistake(lab, client):
    assert client.fail("EXECUTE audit.usp_Send;") == 201
    assert "'@messageBody'" in client.errors[0].text
    assert lab.endpoints() == []


@pytest.mark.parametrize("first", [EVENT, NOTE])
def test_of_several_message_types_none_is_guessed(first):
    """201 as before: nothing ran. Who adds a second type hears of it from every short call."""
    second = {EVENT: NOTE, NOTE: EVENT}[first]
    types = [{"name": name, "validation": "none"} for name in (first, second)]
    lab = Lab(another(AUDIT, message_types=types))
    client = Client(lab)
    assert client.fail(WHOLE) == 201
    assert "'@messageType'" in client.errors[0].text
    assert lab.endpoints() == []
    for name in (NOTE, EVENT):
        client.execute(f"EXECUTE audit.usp_Send @messageType = N'{name}', @messageBody = 0x01;")
    assert [kind for _, kind, _ in lab.landed()] == [NOTE, EVENT]


def test_the_only_type_keeps_its_rule():
    types = [{"name": EVENT, "validation": "well_formed_xml"}]
    client = Client(Lab(another(AUDIT, message_types=types)))
    assert client.fail(WHOLE) == 50100
    assert "@messageBody must be well-formed XML" in client.errors[0].text


def test_with_key_application_the_short_call_names_its_key():
    lab = Lab(configured(conversation={"key": "application"}))
    client = Client(lab)
    assert client.fail(WHOLE) == 50100
    assert re.findall(r"@\w+", client.errors[0].text) == ["@key"]
    client.execute("EXECUTE audit.usp_Send @key = N'k', @messageBody = 0x01;")
    assert lab.bodies() == [b"\x01"]


def test_with_a_target_in_another_database_one_argument_is_a_whole_call():
    two = Two()
    two.run(WHOLE, SHOP)
    two.send("0x02")
    assert two.bodies() == [b"\x01", b"\x02"]


def test_a_default_has_the_names_characters_and_no_others():
    names = {"initiator": "it's ]x[ --", "target": "/* 100% */ $[x]"}
    lab = Lab(another(AUDIT, services=names, contract={"name": "'' ; THROW"}))
    Client(lab).execute(WHOLE)
    assert lab.bodies() == [b"\x01"]


def test_it_answers_by_return_code_only_and_leaves_no_transaction(lab, client):
    client.execute("DECLARE @rc int; EXECUTE @rc = audit.usp_Send " + send()[23:])
    assert client.out.result_sets == []
    assert client.value("@@TRANCOUNT") == 0


@pytest.mark.parametrize("body", ["NULL", "0x"])
def test_a_null_body_and_an_empty_body_both_arrive_as_null(lab, client, body):
    client.execute(send(body))
    assert lab.bodies() == [None]


def test_each_session_has_a_dialog_of_its_own(lab, client):
    client.execute(send("0x01"))
    Client(lab).execute(send("0x02"))
    assert len(lab.rows("SELECT 1 FROM audit.SessionConversations;")) == 2


def test_every_wrong_argument_is_named_in_one_error(client):
    number = client.fail(
        "EXECUTE audit.usp_Send N'a', NULL, N'c', N'EndOfStream', 0x01, N'key', "
        "'00000000-0000-0000-0000-000000000001';"
    )
    assert number == 50100
    text = client.errors[0].text
    for name in ("@fromService", "@toService", "@onContract", "@messageType", "@key", "@messageId"):
        assert f"{name} must be" in text


def test_a_refused_call_leaves_nothing_behind(lab, client):
    assert client.fail(send(message_type="EndOfStream")) == 50100
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert lab.endpoints() == []
    assert client.value("@@TRANCOUNT") == 0


def test_in_a_callers_transaction_nothing_is_visible_before_the_commit(lab, client):
    client.execute("BEGIN TRANSACTION;" + send())
    assert lab.landed() == []
    client.execute("COMMIT;")
    assert lab.bodies() == [b"\x01"]


def test_a_callers_rollback_takes_the_message_and_the_dialog_with_it(lab, client):
    client.execute("BEGIN TRANSACTION;" + send() + "ROLLBACK;")
    assert lab.endpoints() == []
    assert lab.rows("SELECT 1 FROM audit.ConversationLog;") == []
    client.execute(send("0x02"))
    assert lab.bodies() == [b"\x02"]


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "SET IMPLICIT_TRANSACTIONS ON;"])
def test_a_dead_handle_is_replaced_and_the_message_arrives(lab, client, settings):
    client.execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute(settings + send("0x02") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert client.value("@@TRANCOUNT") == 0


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_a_dead_handle_does_not_cost_the_caller_its_work(lab, client, settings):
    lab.sa.execute("CREATE TABLE dbo.Orders (Id int);")
    client.execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute(
        settings + "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);" + send("0x02")
    )
    client.execute("COMMIT;")
    assert lab.rows("SELECT Id FROM dbo.Orders;") == [(1,)]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_dead_handle_in_a_trigger_does_not_abort_the_users_insert(lab, client):
    """Feature reuse of dialogs: threads ST#72, ST#155, ST#188, ST#190, ST#214: a dead handle aborted
    the user's INSERT."""
    lab.sa.execute("CREATE TABLE dbo.Orders (Id int);")
    lab.sa.execute(
        f"CREATE TRIGGER dbo.OrdersAudit ON dbo.Orders AFTER INSERT AS BEGIN {send('0x07')} END;"
    )
    client.execute("INSERT INTO dbo.Orders VALUES (1);")
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute("INSERT INTO dbo.Orders VALUES (2);")
    assert lab.rows("SELECT Id FROM dbo.Orders ORDER BY Id;") == [(1,), (2,)]
    assert lab.bodies() == [b"\x07", b"\x07"]


def test_a_dialog_the_target_has_ended_is_not_sent_on(lab, client):
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target}';")
    client.execute(send("0x02"))
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert len(lab.rows("SELECT 1 FROM audit.ConversationLog;")) == 2


def test_a_missing_target_service_is_no_error_the_message_waits(lab, client):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x01"))
    assert lab.landed() == []
    assert len(lab.rows("SELECT 1 FROM sys.transmission_queue;")) == 1
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(10)
    assert lab.bodies() == [b"\x01"]


def test_a_failing_begin_dialog_leaves_no_placeholder_in_the_callers_transaction(lab, client):
    lab.sa.execute("DROP SERVICE [//redial/audit/initiator];")
    client.submit("BEGIN TRANSACTION;" + send())
    assert client.errors[0].number not in (50100,)
    client.execute("IF XACT_STATE() = 1 COMMIT; ELSE IF XACT_STATE() = -1 ROLLBACK;")
    assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
    assert lab.endpoints() == []


@pytest.mark.parametrize("level", ["SERIALIZABLE", "READ UNCOMMITTED", "REPEATABLE READ"])
def test_the_callers_isolation_level_ties_no_sessions_together(lab, client, level):
    other = Client(lab)
    client.execute(f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION;" + send("0x01"))
    other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION;" + send("0x02"))
    client.execute("COMMIT;")
    other.execute("COMMIT;")
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"]


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_a_cancelled_sender_leaves_no_lock_no_transaction_and_no_dialog(lab, client, settings):
    """T1 holds the key's row, T2 blocks in usp_Send, T2 is cancelled, T1 rolls back."""
    client.execute(send("0x01"))
    holder = Client(lab)
    holder.execute("BEGIN TRANSACTION; UPDATE audit.SessionConversations SET Handle = NEWID();")
    client.submit(settings + send("0x02"))
    assert not client.out.finished
    client.session.attention()
    lab.settle()
    holder.execute("ROLLBACK;")
    assert client.value("@@TRANCOUNT") == 0
    client.execute(send("0x03"))
    assert lab.bodies() == [b"\x01", b"\x03"]


def test_an_application_needs_execute_on_usp_send_and_nothing_else(lab, client):
    """Feature signing / permissions: thread dyatchenko#42, permissions a little too broad."""
    lab.sa.execute("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    client.execute("EXECUTE AS USER = N'app';" + send("0x05") + "REVERT;")
    assert lab.bodies() == [b"\x05"]
    assert client.fail("EXECUTE AS USER = N'app'; SELECT * FROM audit.SessionConversations;") == 229
