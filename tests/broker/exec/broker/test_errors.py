"""Every error a Service Broker statement raises: number, text, and a statement that gets it."""

import pytest

from redial_broker.engine.broker_messages import BROKER_MESSAGES
from tests.broker.exec.broker.conftest import BEGIN

NOBODY = "'00000000-0000-0000-0000-000000000001'"
OPEN = BEGIN + "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x');"
DIALOG = "DECLARE @d uniqueidentifier, @s sysname, @c sysname, @n int; BEGIN DIALOG @d "
ENDED = (
    OPEN
    + """DECLARE @t uniqueidentifier; RECEIVE @t = conversation_handle FROM dbo.TQ;
    END CONVERSATION @t;"""
)
MORE = """CREATE PROCEDURE dbo.p AS RETURN;
GO
CREATE PROCEDURE dbo.takes @a int AS RETURN;
GO
CREATE FUNCTION dbo.f () RETURNS int AS BEGIN RETURN 1 END;
GO
CREATE MESSAGE TYPE [//answer] VALIDATION = NONE;
CREATE MESSAGE TYPE [//loose] VALIDATION = NONE;
CREATE CONTRACT [//sided] ([//m] SENT BY INITIATOR, [//answer] SENT BY TARGET);
CREATE QUEUE dbo.OQ; CREATE SERVICE [//other] ON QUEUE dbo.OQ ([//c], [//sided]);"""
ACTIVATION = (
    "ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = {}, "
    "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)"
)

CASES = [
    (
        8402,
        "DECLARE @h int; BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t'",
        "The data type of the 'dialog handle' in the 'BEGIN DIALOG' statement must be "
        "uniqueidentifier. The int data type is not allowed.",
    ),
    (
        8403,
        "CREATE CONTRACT n ([//m] SENT BY ANY, [//m] SENT BY ANY)",
        "The message type '//m' is specified more than once. Remove the duplicate message type.",
    ),
    (
        8404,
        "CREATE SERVICE s ON QUEUE dbo.TQ ([//c], [//c])",
        "The service contract '//c' is specified more than once. Remove the duplicate service "
        "contract.",
    ),
    (
        8406,
        DIALOG + "FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT [//c] WITH LIFETIME = @n",
        "The dialog lifetime can not be NULL. Specify a valid dialog lifetime value from 1 to "
        "2147483647.",
    ),
    (
        8410,
        BEGIN.replace("ENCRYPTION = OFF", "LIFETIME = 60")
        + "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 61",
        "The conversation timer cannot be set beyond the conversation's lifetime.",
    ),
    (
        8411,
        DIALOG + "FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT [//c] WITH LIFETIME = 0",
        "The dialog lifetime value of 0 is outside the allowable range of 1 to 2147483647. Specify a "
        "valid dialog lifetime value.",
    ),
    (
        8412,
        DIALOG + "FROM SERVICE [//i] TO SERVICE '' ON CONTRACT [//c]",
        "The syntax of the service name '' is invalid.",
    ),
    (
        8413,
        DIALOG + "FROM SERVICE [//i] TO SERVICE '//t', 'no guid' ON CONTRACT [//c]",
        "The syntax of the broker instance 'no guid' is invalid. The specified broker instance is "
        "too long, the maximum size is 256 bytes.",
    ),
    (
        8417,
        DIALOG + "FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT @c",
        "The service contract name is NULL. Specify a service contract name.",
    ),
    (
        8418,
        "DECLARE @h uniqueidentifier; SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')",
        "The conversation handle is missing. Specify a conversation handle.",
    ),
    (
        8419,
        OPEN + "DECLARE @n int; END CONVERSATION @h WITH ERROR = @n DESCRIPTION = 'd'",
        "Both the error code and the description must be provided for END CONVERSATION WITH ERROR. "
        "Neither value can be NULL.",
    ),
    (
        8420,
        OPEN + "DECLARE @g uniqueidentifier; MOVE CONVERSATION @h TO @g",
        "The conversation group is missing. Specify a conversation group.",
    ),
    (
        8421,
        DIALOG + "FROM SERVICE @s TO SERVICE '//t' ON CONTRACT [//c]",
        "The service name is missing. Specify a service name.",
    ),
    (
        8422,
        OPEN + "DECLARE @d nvarchar(9); END CONVERSATION @h WITH ERROR = 1 DESCRIPTION = @d",
        "The error description is missing. Specify a description of the error.",
    ),
    (
        8423,
        DIALOG + "FROM SERVICE [//I] TO SERVICE '//t' ON CONTRACT [//c]",
        'The service "//I" is not found.',
    ),
    (
        8424,
        OPEN + "DECLARE @n int, @d nvarchar(9); "
        "END CONVERSATION @h WITH ERROR = @n DESCRIPTION = @d",
        "The error code and error description are missing. Specify both the error code and "
        "description of the error.",
    ),
    (
        8425,
        DIALOG + "FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT [//C]",
        "The service contract '//C' is not found.",
    ),
    (
        8426,
        f"SEND ON CONVERSATION {NOBODY} MESSAGE TYPE [//m] (N'x')",
        f'The conversation handle "{NOBODY[1:-1]}" is not found.',
    ),
    (
        8427,
        OPEN
        + """DECLARE @t uniqueidentifier; RECEIVE @t = conversation_handle FROM dbo.TQ;
        END CONVERSATION @t; END CONVERSATION @t""",
        "The conversation endpoint is not in a valid state for END CONVERSATION. The current "
        "endpoint state is 'CD'.",
    ),
    (
        8428,
        BEGIN + "SEND ON CONVERSATION @h MESSAGE TYPE [//M] (N'x')",
        'The message type "//M" is not found.',
    ),
    (
        8429,
        ENDED + "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')",
        "The conversation endpoint is not in a valid state for SEND. The current endpoint state is "
        "'DI'.",
    ),
    (
        8431,
        BEGIN + "SEND ON CONVERSATION @h MESSAGE TYPE [//loose] (N'x')",
        "The message type '//loose' is not part of the service contract.",
    ),
    (
        8432,
        BEGIN.replace("[//c]", "[//sided]")
        + "SEND ON CONVERSATION @h MESSAGE TYPE [//answer] (N'x')",
        "The message cannot be sent because the message type '//answer' is marked SENT BY TARGET in "
        "the contract, however this service is an Initiator.",
    ),
    (
        8433,
        BEGIN + "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (NULL)",
        "The message body may not be NULL. A zero-length UNICODE or binary string is allowed.",
    ),
    (
        8434,
        BEGIN.replace("[//c]", "[//sided]").replace("//t", "//other")
        + """
        SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x');
        DECLARE @t uniqueidentifier; RECEIVE @t = conversation_handle FROM dbo.OQ;
        SEND ON CONVERSATION @t MESSAGE TYPE [//m] (N'x')""",
        "The message cannot be sent because the message type '//m' is marked SENT BY INTITIATOR in "
        "the contract, however this service is a Target.",
    ),
    (
        8435,
        OPEN + f"SEND ON CONVERSATION (@h, {NOBODY}) MESSAGE TYPE [//m] (N'x')",
        f'The conversation handle "{NOBODY[1:-1]}" at position 2 is not found.',
    ),
    (
        8436,
        f"RECEIVE * FROM dbo.TQ WHERE conversation_group_id = {NOBODY}",
        f'The conversation group "{NOBODY[1:-1]}" is not found.',
    ),
    (
        8438,
        ENDED
        + """DECLARE @g uniqueidentifier =
        (SELECT conversation_group_id FROM sys.conversation_endpoints
         WHERE conversation_handle = @t); MOVE CONVERSATION @t TO @g""",
        "The conversation endpoint is not in a valid state for MOVE CONVERSATION. The current "
        "endpoint state is 'CD'.",
    ),
    (
        8439,
        OPEN
        + """DECLARE @g uniqueidentifier; SELECT @g = conversation_group_id FROM dbo.TQ;
        MOVE CONVERSATION @h TO @g""",
        "The destination conversation group '",
    ),
    (
        8441,
        OPEN + "DECLARE @n uniqueidentifier; "
        "SEND ON CONVERSATION (@h, @n) MESSAGE TYPE [//m] (N'x')",
        "The conversation handle at position 2 is missing. Specify a conversation handle.",
    ),
    (
        8447,
        "DECLARE @h uniqueidentifier; EXEC (N'RECEIVE @h = conversation_handle, status "
        "FROM dbo.TQ')",
        None,
    ),
    (
        8450,
        "DECLARE @h uniqueidentifier; DECLARE @t TABLE (h uniqueidentifier); "
        "RECEIVE @h = conversation_handle FROM dbo.TQ INTO @t",
        "Assignments in the RECEIVE projection are not allowed in conjunction with the INTO clause.",
    ),
    (
        8451,
        OPEN + "SEND ON CONVERSATION (@h, @h) MESSAGE TYPE [//m] (N'x')",
        "' at position 2 appears more than once.",
    ),
    (
        8458,
        ENDED + "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5",
        "The conversation endpoint is not in a valid state for BEGIN CONVERSATION TIMER. The current "
        "endpoint state is 'DI'.",
    ),
    (
        8492,
        "CREATE CONTRACT n ([//m] SENT BY TARGET)",
        "The service contract 'n' must have at least one message SENT BY INITIATOR or ANY.",
    ),
    (
        9609,
        "DROP SERVICE dbo.[//i]",
        "The service name 'dbo.//i' contains more than the maximum number of prefixes. The maximum "
        "is 0.",
    ),
    (
        9610,
        OPEN
        + """DECLARE @o uniqueidentifier; BEGIN DIALOG @o FROM SERVICE [//other]
        TO SERVICE '//t' ON CONTRACT [//c] WITH RELATED_CONVERSATION = @h""",
        "The service '//other' in the FROM SERVICE clause must match the service '//i' referenced by "
        "RELATED_CONVERSATION = '",
    ),
    (
        9611,
        "CREATE QUEUE n WITH ACTIVATION (PROCEDURE_NAME = dbo.p, MAX_QUEUE_READERS = 1, "
        "EXECUTE AS 'nobody')",
        "Cannot find the specified user 'nobody'.",
    ),
    (
        9613,
        "ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.p, "
        "MAX_QUEUE_READERS = 1)",
        "The queue 'dbo.TQ' cannot be activated because the activation user is not specified.",
    ),
    (
        9614,
        "ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON)",
        "The queue 'dbo.TQ' cannot be activated because the activation stored procedure is either "
        "not specified or is invalid.",
    ),
    (
        9617,
        "ALTER QUEUE dbo.TQ WITH STATUS = OFF; RECEIVE * FROM dbo.TQ",
        'The service queue "TQ" is currently disabled.',
    ),
    (
        9618,
        BEGIN + "ALTER QUEUE dbo.IQ WITH STATUS = OFF, RETENTION = ON; "
        "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')",
        "The message cannot be sent because the service queue 'IQ' associated with the dialog is "
        "currently disabled and retention is on.",
    ),
    (
        9620,
        ACTIVATION.format("dbo.f"),
        "The activation stored procedure 'dbo.f' is invalid. Functions are not allowed.",
    ),
    (
        9653,
        ACTIVATION.format("dbo.takes"),
        "The signature of activation stored procedure 'dbo.takes' is invalid. Parameters are not "
        "allowed.",
    ),
    (
        9742,
        ACTIVATION.format("#p"),
        "The activation stored procedure '#p' is invalid. Temporary procedures may not be configured "
        "for activation.",
    ),
    (9663, "DROP CONTRACT [DEFAULT]", "The system object cannot be modified."),
    (1921, "ALTER QUEUE dbo.TQ MOVE TO [archive]", "Invalid filegroup 'archive' specified."),
    (
        28006,
        OPEN
        + """DECLARE @t uniqueidentifier; RECEIVE @t = conversation_handle FROM dbo.TQ;
        END CONVERSATION @t; CREATE USER clerk WITHOUT LOGIN; EXECUTE AS USER = 'clerk';
        END CONVERSATION @t WITH CLEANUP""",
        "User does not have permission to end the conversation '",
    ),
]


@pytest.mark.parametrize("number, sql, text", CASES, ids=[str(case[0]) for case in CASES])
def test_the_statement_gets_its_error(client, number, sql, text):
    for batch in MORE.split("GO\n"):
        client.run(batch)
    error = client.error(sql)
    if text is None:  # the parser says so first: an assignment and data do not mix
        assert error.number in {number, 102}
        return
    assert error.number == number, error.text
    assert text in error.text if text[-1] in "'" or text[0] in "'" else error.text == text
    assert error.severity == BROKER_MESSAGES[number][0]


def test_9648_is_a_warning_not_an_error(client):
    client.run("CREATE PROCEDURE dbo.p AS RETURN")
    sink = client.run(
        "ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.p, "
        "MAX_QUEUE_READERS = 0, EXECUTE AS OWNER)"
    )
    assert [(m.number, m.text) for m in sink.messages] == [
        (
            9648,
            (
                "The queue 'dbo.TQ' has been enabled for activation, but the MAX_QUEUE_READERS is zero. "
                "No procedures will be activated. Consider increasing the number of MAX_QUEUE_READERS."
            ),
        )
    ]


@pytest.mark.parametrize("readers", [32768, 2147483647])
def test_more_readers_than_32767_are_refused(client, readers):
    client.run("CREATE PROCEDURE dbo.p AS RETURN")
    assert client.error(ACTIVATION.format("dbo.p").replace("= 1,", f"= {readers},")).number == 102
    client.run(ACTIVATION.format("dbo.p").replace("= 1,", "= 32767,"))


def test_an_altered_service_must_change_something(client):
    """8493 needs a statement without a clause, which the grammar has not: 102 comes first."""
    assert client.error("ALTER SERVICE [//t]").number == 102


def test_a_message_larger_than_the_maximum_is_8459(client, monkeypatch):
    monkeypatch.setattr("redial_broker.ssb.verbs.MAX_BODY", 3)
    error = client.error(BEGIN + "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (0x01020304)")
    assert (error.number, error.text) == (
        8459,
        "The message size, including header information, exceeds the maximum allowed of 3.",
    )


def test_rebuild_and_reorganize_lock_the_queue_and_change_nothing(client):
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    other = client.other()
    other.run("BEGIN TRAN; RECEIVE TOP (1) * FROM dbo.TQ")
    client.send("ALTER QUEUE dbo.TQ REBUILD WITH (MAXDOP = 2)")
    assert client.session.wait is not None
    other.run("ROLLBACK")
    assert client.session.wait is None
    client.run("ALTER QUEUE dbo.TQ REORGANIZE WITH (LOB_COMPACTION = OFF)")
    client.run("ALTER QUEUE dbo.TQ MOVE TO [PRIMARY]")
    assert len(client.rows("RECEIVE * FROM dbo.TQ")) == 1


def test_a_queue_of_another_database_is_created_altered_and_dropped_by_its_three_part_name(client):
    client.run("CREATE DATABASE depot")
    client.run("CREATE QUEUE depot.dbo.far; ALTER QUEUE depot.dbo.far WITH STATUS = OFF")
    assert client.rows(
        "SELECT name, is_receive_enabled FROM depot.sys.service_queues WHERE is_ms_shipped = 0"
    ) == [("far", 0)]
    assert client.error("RECEIVE * FROM depot.dbo.far").number == 9617
    client.run("DROP QUEUE depot.dbo.far")
    assert client.error("SELECT * FROM depot.dbo.far").number == 208
