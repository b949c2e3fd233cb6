"""An application may call usp_Send and nothing else; operators and readers have a little more."""

from __future__ import annotations

import pytest

from .lab import EVENT, Lab

TABLES = (
    "SessionConversations",
    "ConversationLog",
    "Landing",
    "DeadLetter",
    "ErrorLog",
    "PoisonAttempt",
    "OwnedObject",
    "DeploymentHistory",
    "DeploymentAttempt",
    "DeploymentText",
)
OTHER_PROCEDURES = (
    "usp_BeginConversation",
    "usp_RecycleConversation",
    "usp_ResendPending",
    "usp_SenderActivation",
    "usp_TargetActivation",
    "usp_EndLeaked",
    "usp_ArmTimer",
    "usp_LogError",
    "usp_LandRow",
    "usp_RecordPoison",
    "usp_ReadErrorBody",
)


@pytest.fixture(scope="module")
def lab() -> Lab:
    """One deployment for the whole file: nearly all that is tried here is refused."""
    made = Lab()
    made.send(b"before")
    return made


@pytest.fixture(scope="module")
def sender(lab):
    """A session of a login whose only right is the role audit_sender."""
    return lab.login("application", "audit_sender")


def refusals(session, sql: str) -> list[int]:
    """Numbers of the errors a batch ends with."""
    return [error.number for error in session.execute(sql).errors]


def test_a_sender_sends(lab, sender):
    lab.send(b"mine", sender)
    assert lab.landed()[-1] == b"mine"


def test_in_a_transaction_of_his_own_too(lab, sender):
    sender.execute("BEGIN TRANSACTION;").ok()
    lab.send(b"in a transaction", sender)
    assert b"in a transaction" not in lab.landed()
    sender.execute("COMMIT;").ok()
    assert lab.landed()[-1] == b"in a transaction"


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM audit.{0};", "DELETE FROM audit.{0};", "SELECT COUNT(*) FROM audit.{0};"],
)
def test_he_reads_and_deletes_no_row(sender, statement, table):
    assert refusals(sender, statement.format(table)) == [229]


@pytest.mark.parametrize("procedure", OTHER_PROCEDURES)
def test_he_calls_no_other_procedure(sender, procedure):
    [error] = sender.execute(f"EXECUTE audit.{procedure};").errors
    assert error.number == 229
    assert f"'{procedure}'" in error.text


@pytest.mark.parametrize("queue", ["InitiatorQueue", "TargetQueue"])
@pytest.mark.parametrize(
    "statement",
    [
        "RECEIVE * FROM audit.{0};",
        "SELECT * FROM audit.{0};",
        "DECLARE @g uniqueidentifier; GET CONVERSATION GROUP @g FROM audit.{0};",
    ],
)
def test_he_takes_and_sees_no_message(sender, statement, queue):
    assert refusals(sender, statement.format(queue)) == [229]


def test_he_sends_on_no_dialog_and_ends_none(lab, sender):
    handle = lab.handles(1)[0]
    before, landed = lab.endpoints(), lab.landed()
    for statement in (
        f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [{EVENT}] (0x01);",
        f"END CONVERSATION '{handle}';",
        f"END CONVERSATION '{handle}' WITH CLEANUP;",
        f"END CONVERSATION '{handle}' WITH ERROR = 1 DESCRIPTION = N'x';",
        f"BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 1;",
    ):
        assert len(refusals(sender, statement)) == 1, statement
    assert (lab.endpoints(), lab.landed()) == (before, landed)


def test_he_begins_no_dialog(lab, sender):
    before = lab.endpoints()
    assert (
        len(
            refusals(
                sender,
                (
                    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
                    "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract] "
                    "WITH ENCRYPTION = OFF;"
                ),
            )
        )
        == 1
    )
    assert lab.endpoints() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE dbo.t (id int);",
        "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;",
        "DROP PROCEDURE audit.usp_Send;",
        "ALTER ROLE db_owner ADD MEMBER application;",
        "GRANT SELECT ON audit.Landing TO application;",
        "CREATE LOGIN x WITH PASSWORD = N'Redial-1';",
        "CREATE OR ALTER PROCEDURE audit.usp_Send AS RETURN 0;",
        "EXECUTE AS USER = N'audit_module';",
        "DROP SERVICE [//redial/audit/target];",
        "ALTER TABLE audit.Landing ADD x int;",
    ],
)
def test_he_changes_no_definition_and_becomes_nobody_else(lab, sender, statement):
    before = lab.catalog()
    assert len(refusals(sender, statement)) >= 1
    assert lab.catalog() == before


def test_the_broker_catalog_shows_him_nothing_of_the_dialogs(sender):
    assert sender.execute("SELECT * FROM sys.transmission_queue;").rows() == []


def test_without_the_role_not_even_usp_send(lab):
    before = lab.endpoints()
    session = lab.login("stranger")
    [error] = lab.call_send(b"x", session).errors
    assert (error.number, "usp_Send" in error.text) == (229, True)
    assert lab.endpoints() == before


def test_an_operator_reads_the_logs_and_resends_and_does_not_send(lab):
    operator = lab.login("operator1", "audit_operator")
    for table in ("ConversationLog", "DeadLetter", "ErrorLog", "PoisonAttempt"):
        operator.execute(f"SELECT * FROM audit.{table};").ok()
    assert operator.execute("EXECUTE audit.usp_EndLeaked;").rows() == []
    assert refusals(operator, "SELECT * FROM audit.Landing;") == [229]
    assert [e.number for e in lab.call_send(b"x", operator).errors] == [229]


def test_a_reader_reads_what_landed_and_no_more(lab):
    reader = lab.login("reader1", "audit_reader")
    assert (b"before",) in reader.execute("SELECT Body FROM audit.Landing;").rows()
    reader.execute("SELECT * FROM audit.ConversationLog;").ok()
    assert refusals(reader, "SELECT * FROM audit.DeadLetter;") == [229]
    assert refusals(reader, "DELETE FROM audit.Landing;") == [229]
