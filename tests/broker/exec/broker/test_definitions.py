"""CREATE, ALTER and DROP of the broker's objects, activation from T-SQL, permissions, refusals."""

import pytest


@pytest.mark.parametrize(
    "sql, number",
    [
        ("CREATE MESSAGE TYPE [//m]", 2714),
        ("CREATE CONTRACT [//c] ([//m] SENT BY ANY)", 2714),
        ("CREATE QUEUE dbo.TQ", 2714),
        ("CREATE SERVICE [//t] ON QUEUE dbo.TQ", 2714),
        ("CREATE SERVICE s ON QUEUE dbo.nope", 15151),
        ("CREATE SERVICE s ON QUEUE dbo.TQ (nope)", 15151),
        ("CREATE CONTRACT c ([//m] SENT BY TARGET)", 8492),
        ("CREATE CONTRACT c ([//m] SENT BY ANY, [//m] SENT BY TARGET)", 8403),
        ("DROP MESSAGE TYPE [//m]", 3716),
        ("DROP CONTRACT [//c]", 3716),
        ("DROP QUEUE dbo.TQ", 3716),
        ("DROP QUEUE dbo.nope", 3701),
        ("DROP SERVICE nope", 15151),
        ("DROP MESSAGE TYPE [DEFAULT]", 9663),
        ("ALTER QUEUE dbo.nope WITH STATUS = ON", 3701),
        (
            "CREATE QUEUE q WITH ACTIVATION (PROCEDURE_NAME = dbo.nope, MAX_QUEUE_READERS = 1, "
            "EXECUTE AS SELF)",
            9614,
        ),
        ("ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON)", 9614),
        (
            "ALTER QUEUE dbo.TQ WITH ACTIVATION (PROCEDURE_NAME = dbo.p1, MAX_QUEUE_READERS = 1, "
            "EXECUTE AS SELF)",
            9653,
        ),
        (
            "CREATE QUEUE q WITH ACTIVATION (PROCEDURE_NAME = dbo.p0, MAX_QUEUE_READERS = 1, "
            "EXECUTE AS 'nobody')",
            9611,
        ),
    ],
)
def test_what_is_refused(client, sql, number):
    client.run("CREATE PROCEDURE dbo.p0 AS RETURN")
    client.run("CREATE PROCEDURE dbo.p1 @a int AS RETURN")
    assert client.error(sql).number == number


@pytest.mark.parametrize(
    "sql, named",
    [
        (
            "CREATE EVENT NOTIFICATION n ON SERVER FOR CREATE_LOGIN TO SERVICE 's', "
            "'current database'",
            "CREATE_LOGIN",
        ),
    ],
)
def test_what_the_broker_does_not_do_is_refused_by_name_and_position(client, sql, named):
    error = client.error("\n" + sql)
    assert error.number == 60001
    assert named in error.text and "line 2" in error.text


def test_odd_names_work(client):
    name = "a]b'c\"d " + "x" * 100
    quoted = "[" + name.replace("]", "]]") + "]"
    text = "N'" + name.replace("'", "''") + "'"
    client.run(f"""CREATE MESSAGE TYPE {quoted}; CREATE CONTRACT {quoted} ({quoted} SENT BY ANY);
        CREATE QUEUE {quoted}; CREATE SERVICE {quoted} ON QUEUE {quoted} ({quoted});""")
    client.run(f"""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE {quoted} TO SERVICE {text} ON CONTRACT {quoted};
        SEND ON CONVERSATION @h MESSAGE TYPE {quoted} (N'x')""")
    assert client.rows(f"RECEIVE service_name, message_type_name FROM {quoted}") == [(name, name)]


def test_alter_queue_changes_only_what_it_names(client):
    client.run("CREATE PROCEDURE dbo.p AS RETURN")
    client.run("""CREATE QUEUE q WITH STATUS = OFF, RETENTION = ON,
        ACTIVATION (STATUS = OFF, PROCEDURE_NAME = dbo.p, MAX_QUEUE_READERS = 2, EXECUTE AS OWNER),
        POISON_MESSAGE_HANDLING (STATUS = OFF)""")
    query = """SELECT is_receive_enabled, is_retention_enabled, is_activation_enabled,
        max_readers, activation_procedure, execute_as_principal_id,
        is_poison_message_handling_enabled FROM sys.service_queues WHERE name = 'q'"""
    assert client.rows(query) == [(0, 1, 0, 2, "[dbo].[p]", -2, 0)]
    client.run("ALTER QUEUE q WITH STATUS = ON, ACTIVATION (MAX_QUEUE_READERS = 5)")
    assert client.rows(query) == [(1, 1, 0, 5, "[dbo].[p]", -2, 0)]
    client.run("ALTER QUEUE q WITH ACTIVATION (DROP), POISON_MESSAGE_HANDLING (STATUS = ON)")
    assert client.rows(query) == [(1, 1, 0, 0, None, None, 1)]


def test_definitions_roll_back(client):
    client.run("""BEGIN TRAN; CREATE QUEUE q; CREATE SERVICE s ON QUEUE q;
        ALTER QUEUE dbo.TQ WITH STATUS = OFF; DROP SERVICE [//t]; ROLLBACK""")
    assert client.rows("SELECT name FROM sys.services WHERE service_id > 65535 ORDER BY name") == [
        ("//i",),
        ("//t",),
    ]
    assert client.error("SELECT * FROM q").number == 208
    assert client.rows("RECEIVE * FROM dbo.TQ") == []


def test_everything_can_be_dropped_in_order(client):
    client.run("""DROP SERVICE [//i]; DROP SERVICE [//t]; DROP QUEUE dbo.IQ; DROP QUEUE dbo.TQ;
        DROP CONTRACT [//c]; DROP MESSAGE TYPE [//m]; DROP MESSAGE TYPE [//x]""")
    assert client.value("SELECT COUNT(*) FROM sys.service_queues WHERE is_ms_shipped = 0") == 0


def test_priorities_and_routes(client):
    client.run("""CREATE BROKER PRIORITY p FOR CONVERSATION SET (CONTRACT_NAME = [//c],
        LOCAL_SERVICE_NAME = ANY, REMOTE_SERVICE_NAME = N'//t', PRIORITY_LEVEL = 9);
        CREATE ROUTE r WITH SERVICE_NAME = '//t', ADDRESS = 'LOCAL'""")
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    assert client.rows("""SELECT is_initiator, priority FROM sys.conversation_endpoints
        ORDER BY is_initiator""") == [(0, 5), (1, 9)]
    client.run("ALTER BROKER PRIORITY p FOR CONVERSATION SET (PRIORITY_LEVEL = DEFAULT)")
    client.run("DROP BROKER PRIORITY p; DROP ROUTE r")


LANDING = """CREATE PROCEDURE dbo.landing AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @h uniqueidentifier, @n sysname, @b varbinary(max);
    WHILE 1 = 1
    BEGIN
        BEGIN TRANSACTION;
        WAITFOR (RECEIVE TOP (1) @h = conversation_handle, @n = message_type_name,
                 @b = message_body FROM dbo.TQ), TIMEOUT 1000;
        IF @@ROWCOUNT = 0 BEGIN COMMIT; BREAK; END;
        IF @n = N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'
            END CONVERSATION @h;
        ELSE
            INSERT dbo.landed (body) VALUES (CAST(@b AS nvarchar(100)));
        COMMIT;
    END;
END"""


def activate(client, procedure: str, readers: int = 1) -> None:
    client.run("CREATE TABLE dbo.landed (id int IDENTITY PRIMARY KEY, body nvarchar(100))")
    client.run(procedure)
    client.run(f"""ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.landing,
        MAX_QUEUE_READERS = {readers}, EXECUTE AS OWNER)""")


def test_activation_lands_messages_and_ends_the_dialog(client, instance):
    activate(client, LANDING)
    client.dialog("""SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'one');
        SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'two'); END CONVERSATION @h""")
    assert client.rows("SELECT body FROM dbo.landed ORDER BY id") == [("one",), ("two",)]
    assert client.rows("SELECT state, is_initiator FROM sys.conversation_endpoints") == [("CD", 0)]
    assert client.rows("SELECT state, tasks_waiting FROM sys.dm_broker_queue_monitors") == [
        ("INACTIVE", 1)
    ]
    instance.advance(2)
    assert client.rows("SELECT state, tasks_waiting FROM sys.dm_broker_queue_monitors") == [
        ("INACTIVE", 0)
    ]
    instance.advance(1800)
    assert client.rows("SELECT * FROM sys.conversation_endpoints") == []


def test_a_procedure_that_fails_disables_its_queue_after_five_rollbacks(client, instance):
    activate(
        client,
        """CREATE PROCEDURE dbo.landing AS
        BEGIN BEGIN TRAN; RECEIVE TOP (1) * FROM dbo.TQ; ROLLBACK; END""",
    )
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'poison')")
    instance.advance(60)
    assert client.value("SELECT is_receive_enabled FROM sys.service_queues WHERE name = 'TQ'") == 0


def test_a_procedure_without_receive_leaves_notified(client, instance):
    activate(client, "CREATE PROCEDURE dbo.landing AS PRINT 'nothing'")
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    instance.advance(60)
    assert client.value("SELECT state FROM sys.dm_broker_queue_monitors") == "NOTIFIED"


def test_a_user_needs_permissions(client):
    client.run("""CREATE USER clerk WITHOUT LOGIN; EXECUTE AS USER = 'clerk'""")
    assert client.error("RECEIVE * FROM dbo.TQ").number == 229
    assert (
        client.error("""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT [//c]""").number
        == 229
    )
    assert client.error("CREATE MESSAGE TYPE mine").number == 262
    client.run(
        "REVERT; GRANT RECEIVE ON dbo.IQ TO clerk; GRANT REFERENCES ON CONTRACT::[//c] "
        "TO clerk; EXECUTE AS USER = 'clerk'"
    )
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    client.run("REVERT")
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1


def test_alter_database_options(client):
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    client.run("ALTER DATABASE sales SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE")
    assert client.value("SELECT is_broker_enabled FROM sys.databases WHERE name = 'sales'") == 0
    client.run("ALTER DATABASE sales SET NEW_BROKER WITH ROLLBACK IMMEDIATE")
    assert client.value("SELECT is_broker_enabled FROM sys.databases WHERE name = 'sales'") == 1
    assert client.rows("SELECT * FROM sys.conversation_endpoints") == []
