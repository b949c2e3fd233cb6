"""BEGIN DIALOG, SEND, END, MOVE and TIMER as statements."""

import pytest

ERROR = "http://schemas.microsoft.com/SQL/ServiceBroker/Error"


def bodies(client, queue="dbo.TQ"):
    return [row[0] for row in client.rows(f"RECEIVE message_body FROM {queue}")]


def test_names_may_be_variables(client):
    client.run("""DECLARE @h uniqueidentifier, @f sysname = N'//i', @t nvarchar(256) = N'//t',
        @c sysname = N'//c', @m sysname = N'//m', @b varbinary(max) = 0x0102;
        BEGIN DIALOG CONVERSATION @h FROM SERVICE @f TO SERVICE @t ON CONTRACT @c
            WITH LIFETIME = 60, ENCRYPTION = OFF;
        SEND ON CONVERSATION @h MESSAGE TYPE @m (@b);""")
    assert bodies(client) == [b"\x01\x02"]


@pytest.mark.parametrize(
    "body, stored",
    [
        ("N'é'", "é".encode("utf-16-le")),
        ("'abc'", b"abc"),
        ("0x00FF", b"\x00\xff"),
        ("CAST(N'<a/>' AS xml)", b"\xff\xfe" + "<a/>".encode("utf-16-le")),
        ("N''", None),
        ("''", None),
        ("0x", None),
        ("REPLICATE(CAST(0x41 AS varchar(max)), 100000)", b"A" * 100000),
    ],
)
def test_bodies_arrive_byte_for_byte(client, body, stored):
    client.dialog(f"SEND ON CONVERSATION @h MESSAGE TYPE [//m] ({body})")
    assert bodies(client) == [stored]


def test_a_body_may_be_left_out_but_not_be_null(client):
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m]")
    assert bodies(client) == [None]
    from tests.broker.exec.broker.conftest import BEGIN

    for null in ("NULL", "CAST(NULL AS varbinary(max))"):
        error = client.error(BEGIN + f"SEND ON CONVERSATION @h MESSAGE TYPE [//m] ({null})")
        assert (error.number, error.severity, error.state) == (8433, 16, 1)


def test_default_contract_and_type(client):
    client.run("CREATE SERVICE d ON QUEUE dbo.TQ ([DEFAULT])")
    client.run("""DECLARE @h uniqueidentifier;
        BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE 'd', 'CURRENT DATABASE';
        SEND ON CONVERSATION @h (N'x')""")
    assert client.rows("RECEIVE message_type_name, service_contract_name FROM dbo.TQ") == [
        ("DEFAULT", "DEFAULT")
    ]


@pytest.mark.parametrize(
    "sql, number",
    [
        ("BEGIN DIALOG @h FROM SERVICE nope TO SERVICE '//t'", 8423),
        ("BEGIN DIALOG @h FROM SERVICE [//I] TO SERVICE '//t'", 8423),
        ("BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT nope", 8425),
        ("BEGIN DIALOG @h FROM SERVICE @n TO SERVICE '//t'", 8421),
        ("BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE @n", 8421),
        ("BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT @n", 8417),
        ("BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t' WITH LIFETIME = 0", 8411),
        ("BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t' WITH LIFETIME = @i", 8406),
        (
            "BEGIN DIALOG @h FROM SERVICE [//i] TO SERVICE '//t' WITH RELATED_CONVERSATION = @h",
            8418,
        ),
        ("BEGIN DIALOG @n FROM SERVICE [//i] TO SERVICE '//t'", 8402),
        ("SEND ON CONVERSATION @h (N'x')", 8418),
        ("SEND ON CONVERSATION (@h, @h) (N'x')", 8441),
        ("SET @h = NEWID(); SEND ON CONVERSATION @h (N'x')", 8426),
        ("END CONVERSATION @h", 8418),
        ("SET @h = NEWID(); END CONVERSATION @h", 8426),
        ("SET @h = NEWID(); BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5", 8426),
        ("SET @h = NEWID(); MOVE CONVERSATION @h TO @h", 8426),
    ],
)
def test_what_is_refused(client, sql, number):
    error = client.error("DECLARE @h uniqueidentifier, @n nvarchar(256), @i int;\n" + sql)
    assert error.number == number
    assert error.line == 2


def test_errors_of_a_verb_end_the_statement_only(client):
    sink = client.send("""BEGIN TRAN; DECLARE @h uniqueidentifier = NEWID();
        SEND ON CONVERSATION @h (N'x'); SELECT @@ERROR, @@TRANCOUNT; ROLLBACK""")
    assert sink.errors[0].number == 8426
    assert sink.result_sets[-1].rows == [(8426, 1)]


def test_an_error_in_a_try_block_is_caught(client):
    assert client.rows("""BEGIN TRY; END CONVERSATION 'A0000000-0000-4000-8000-000000000000';
        END TRY BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE() END CATCH""") == [(8426, 0)]


def test_end_with_error_reaches_the_peer_as_xml(client):
    client.dialog("""SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x');
        END CONVERSATION @h WITH ERROR = 127 DESCRIPTION = N'Unable to process.'""")
    ((name, code, text),) = client.rows("""DECLARE @t TABLE (n sysname, b xml);
        RECEIVE TOP (1) message_type_name, CAST(message_body AS xml) FROM dbo.TQ INTO @t;
        WITH XMLNAMESPACES (DEFAULT 'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
        SELECT n, b.value('(/Error/Code)[1]', 'int'),
               b.value('(/Error/Description)[1]', 'nvarchar(3000)') FROM @t""")
    assert (name, code, text) == (ERROR, 127, "Unable to process.")


def test_a_literal_handle_works(client):
    handle = client.dialog()
    client.run(f"END CONVERSATION '{handle.lower()}' WITH CLEANUP")
    assert client.rows("SELECT * FROM sys.conversation_endpoints") == []


def test_one_send_to_several(client):
    client.run("""DECLARE @a uniqueidentifier, @b uniqueidentifier;
        BEGIN DIALOG @a FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT [//c];
        BEGIN DIALOG @b FROM SERVICE [//i] TO SERVICE '//t' ON CONTRACT [//c];
        SEND ON CONVERSATION (@a, @b) MESSAGE TYPE [//m] (N'x')""")
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 2


def test_a_timer_rings_on_the_virtual_clock(client, instance):
    client.dialog("BEGIN CONVERSATION TIMER (@h) TIMEOUT = 3600")
    instance.advance(3599)
    assert client.rows("RECEIVE message_type_name FROM dbo.IQ") == []
    instance.advance(1)
    assert client.rows("RECEIVE message_type_name, message_body FROM dbo.IQ") == [
        ("http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer", None)
    ]


def test_rollback_undoes_everything(client):
    client.run("BEGIN TRAN")
    client.dialog("""SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x');
        BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5""")
    client.run("ROLLBACK")
    assert client.rows("SELECT * FROM sys.conversation_endpoints") == []
    assert client.rows("SELECT * FROM dbo.TQ") == []
    assert client.instance.engine.timers.entries == {}


def test_a_sender_waits_in_getdialogbyhandle_order(client):
    handle = client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'1')")
    other = client.other()
    client.run(f"BEGIN TRAN; SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'2')")
    other.send(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'3')")
    assert other.session.wait.resource.key[0] == "CONVERSATION_GROUP"
    client.run("COMMIT")
    assert other.session.wait is None
    assert [body.decode("utf-16-le") for body in bodies(client)] == ["1", "2", "3"]


def test_lock_timeout_ends_the_wait_with_1222(client, instance):
    handle = client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'1')")
    other = client.other()
    client.run(f"BEGIN TRAN; SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'2')")
    assert (
        other.error(f"""SET LOCK_TIMEOUT 0;
        SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'3')""").number
        == 1222
    )


def test_move_conversation(client):
    a, b = client.dialog(), client.dialog()
    client.run(f"""DECLARE @g uniqueidentifier = (SELECT conversation_group_id
        FROM sys.conversation_endpoints WHERE conversation_handle = '{a}');
        MOVE CONVERSATION '{b}' TO @g""")
    assert client.value("SELECT COUNT(*) FROM sys.conversation_groups") == 1
