"""RECEIVE in its three forms, WAITFOR, GET CONVERSATION GROUP."""

import pytest


def send(client, *texts, handle=None) -> str:
    handle = handle or client.dialog()
    for text in texts:
        client.run(f"SEND ON CONVERSATION '{handle}' MESSAGE TYPE [//m] (N'{text}')")
    return handle


def test_a_result_set_with_expressions_and_names(client):
    send(client, "a", "b")
    sink = client.run("""RECEIVE TOP (1) CAST(message_body AS nvarchar(max)) AS body,
        message_sequence_number + 1, message_type_name FROM dbo.TQ""")
    assert sink.result_sets[0].names == ["body", "", "message_type_name"]
    assert sink.result_sets[0].rows == [("a", 1, "//m")]
    assert client.rows("RECEIVE CAST(message_body AS nvarchar(max)) FROM dbo.TQ") == [("b",)]


def test_star_returns_the_queues_columns(client):
    send(client, "a")
    sink = client.run("RECEIVE * FROM dbo.TQ")
    assert sink.result_sets[0].names[:6] == [
        "status",
        "priority",
        "queuing_order",
        "conversation_group_id",
        "conversation_handle",
        "message_sequence_number",
    ]
    assert sink.result_sets[0].rows[0][0] == 1


def test_variables_take_the_last_row_and_keep_their_values_without_one(client):
    send(client, "a", "b")
    query = """DECLARE @b nvarchar(max) = N'kept', @n bigint;
        RECEIVE @b = CAST(message_body AS nvarchar(max)), @n = message_sequence_number FROM dbo.TQ;
        SELECT @b, @n, @@ROWCOUNT"""
    assert client.rows(query) == [("b", 1, 2)]
    assert client.rows(query) == [("kept", None, 0)]


def test_into_a_table_variable(client):
    send(client, "a", "b", "c")
    assert client.rows("""DECLARE @t TABLE (id int IDENTITY PRIMARY KEY, n bigint, b nvarchar(9));
        RECEIVE TOP (2) message_sequence_number, message_body FROM dbo.TQ INTO @t;
        RECEIVE TOP (2) message_sequence_number, message_body FROM dbo.TQ INTO @t;
        SELECT * FROM @t""") == [(1, 0, "a"), (2, 1, "b"), (3, 2, "c")]


def test_where_by_handle_and_group(client):
    one, two = send(client, "one"), send(client, "two")
    ((handle, group),) = client.rows(f"""SELECT t.conversation_handle, t.conversation_group_id
        FROM sys.conversation_endpoints i JOIN sys.conversation_endpoints t
        ON t.conversation_id = i.conversation_id AND t.is_initiator = 0
        WHERE i.conversation_handle = '{two}'""")
    assert client.rows(f"""DECLARE @g uniqueidentifier = '{group}';
        RECEIVE conversation_handle FROM dbo.TQ WHERE conversation_group_id = @g""") == [(handle,)]
    assert (
        client.rows(f"RECEIVE message_body FROM dbo.TQ WHERE conversation_handle = '{handle}'")
        == []
    )
    assert one != two


@pytest.mark.parametrize(
    "sql, number",
    [
        ("RECEIVE * FROM dbo.nope", 208),
        ("CREATE TABLE dbo.tab (a int); EXEC('RECEIVE * FROM dbo.tab')", 208),
        ("RECEIVE nope FROM dbo.TQ", 207),
        (
            """DECLARE @h uniqueidentifier; DECLARE @t TABLE (a uniqueidentifier);
        RECEIVE @h = conversation_handle FROM dbo.TQ INTO @t""",
            8450,
        ),
        ("DECLARE @t TABLE (a int); RECEIVE status, priority FROM dbo.TQ INTO @t", 213),
        ("RECEIVE TOP (-1) * FROM dbo.TQ", 127),
        (
            "RECEIVE * FROM dbo.TQ WHERE conversation_handle = 'A0000000-0000-4000-8000-000000000000'",
            8426,
        ),
        (
            """DECLARE @g uniqueidentifier = NEWID();
        RECEIVE * FROM dbo.TQ WHERE conversation_group_id = @g""",
            8436,
        ),
    ],
)
def test_what_is_refused(client, sql, number):
    assert client.error(sql).number == number


def test_waitfor_times_out_with_an_empty_set(client, instance):
    sink = client.send("""DECLARE @h uniqueidentifier;
        WAITFOR (RECEIVE @h = conversation_handle FROM dbo.TQ), TIMEOUT 5000;
        SELECT @@ROWCOUNT, @h""")
    assert client.session.wait is not None
    instance.advance(4.9)
    assert client.session.wait is not None
    instance.advance(0.1)
    assert sink.result_sets[-1].rows == [(0, None)]


def test_waitfor_without_timeout_waits_for_the_message(client, instance):
    reader = client.other()
    sink = reader.send("WAITFOR (RECEIVE CAST(message_body AS nvarchar(9)) FROM dbo.TQ)")
    instance.advance(86400)
    assert reader.session.wait is not None
    send(client, "late")
    assert sink.result_sets[-1].rows == [("late",)]


def test_a_message_between_two_timeouts_does_not_extend_the_wait(client, instance):
    reader, holder = client.other(), client.other()
    handle = send(client, "x")
    holder.run("BEGIN TRAN; RECEIVE * FROM dbo.TQ")
    sink = reader.send("WAITFOR (RECEIVE * FROM dbo.TQ), TIMEOUT 1000; SELECT @@ROWCOUNT")
    instance.advance(0.6)
    send(client, "y", handle=handle)
    instance.advance(0.4)
    assert sink.result_sets[-1].rows == [(0,)]
    holder.run("ROLLBACK")


def test_waitfor_ends_with_9617_when_the_queue_is_disabled(client):
    reader = client.other()
    sink = reader.send("WAITFOR (RECEIVE * FROM dbo.TQ)")
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = OFF")
    assert [m.number for m in sink.errors] == [9617]


def test_attention_ends_a_wait(client, instance):
    reader = client.other()
    reader.send("WAITFOR (RECEIVE * FROM dbo.TQ)")
    reader.session.attention()
    instance.run()
    assert reader.session.wait is None
    send(client, "x")
    assert len(reader.rows("RECEIVE * FROM dbo.TQ")) == 1


def test_a_failing_cast_takes_nothing_and_is_not_counted(client):
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'<open>')")
    for _ in range(7):
        assert client.error("RECEIVE CAST(message_body AS xml) FROM dbo.TQ").number // 100 == 94
    assert client.value("SELECT is_receive_enabled FROM sys.service_queues WHERE name = 'TQ'") == 1
    assert len(client.rows("RECEIVE message_body FROM dbo.TQ")) == 1


def test_five_rollbacks_disable_the_queue(client):
    send(client, "poison")
    for _ in range(5):
        client.run("BEGIN TRAN; RECEIVE * FROM dbo.TQ; ROLLBACK")
    assert client.error("RECEIVE * FROM dbo.TQ").number == 9617


def test_get_conversation_group(client):
    send(client, "x")
    found = client.value("""DECLARE @g uniqueidentifier; BEGIN TRAN;
        GET CONVERSATION GROUP @g FROM dbo.TQ; SELECT @g""")
    assert (
        client.other().value("""DECLARE @g uniqueidentifier;
        WAITFOR (GET CONVERSATION GROUP @g FROM dbo.TQ), TIMEOUT 0; SELECT @g""")
        is None
    )
    client.run("COMMIT")
    assert client.value("SELECT conversation_group_id FROM dbo.TQ") == found


def test_insert_exec_takes_a_receive(client):
    send(client, "x")
    client.run("CREATE PROCEDURE dbo.take AS RECEIVE message_sequence_number FROM dbo.TQ")
    assert client.rows("""DECLARE @t TABLE (n bigint); INSERT @t EXEC dbo.take;
        SELECT n FROM @t""") == [(0,)]


@pytest.mark.parametrize(
    "change, number",
    [
        ("DROP SERVICE [//t]", 8426),
        ("CREATE QUEUE dbo.other; ALTER SERVICE [//t] ON QUEUE dbo.other", 8426),
        ("ALTER QUEUE dbo.TQ WITH STATUS = OFF", 9617),
    ],
)
def test_a_receive_that_waits_for_one_conversation_fails_when_it_has_left_the_queue(
    client, change, number
):
    """RECEIVE page: the service is dropped or moved to another queue, the queue switched off."""
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    handle = client.value(
        "DECLARE @t uniqueidentifier; RECEIVE @t = conversation_handle FROM dbo.TQ; SELECT @t"
    )
    reader = client.other()
    reader.send(f"WAITFOR (RECEIVE * FROM dbo.TQ WHERE conversation_handle = '{handle}')")
    assert reader.session.wait is not None
    client.run(change)
    assert [e.number for e in reader.session.sink.errors] == [number]


def test_an_alias_may_stand_before_its_expression(client):
    client.dialog("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')")
    sink = client.run(
        "RECEIVE body = CAST(message_body AS nvarchar(9)), kind = message_type_name FROM dbo.TQ"
    )
    assert [c.name for c in sink.result_sets[0].columns] == ["body", "kind"]
    assert sink.result_sets[0].rows == [("x", "//m")]
