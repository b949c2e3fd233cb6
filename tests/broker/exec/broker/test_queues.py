"""Queues as objects: their internal tables, names they cannot have, what may not touch them."""

import pytest

SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"
COUNT = """SELECT p.rows FROM sys.objects AS q
    JOIN sys.objects AS t ON t.parent_object_id = q.object_id AND t.type = 'IT'
    JOIN sys.partitions AS p ON p.object_id = t.object_id AND p.index_id = 1
    WHERE q.name = 'TQ'"""


def test_messages_are_counted_by_the_internal_table_without_touching_the_queue(client):
    """sys.internal_tables page, example H; the count locks nothing."""
    other = client.other()
    client.run("BEGIN TRAN")
    client.dialog(SEND + ";" + SEND)
    assert other.rows(COUNT) == [(2,)]
    client.run("COMMIT; RECEIVE TOP (1) * FROM dbo.TQ")
    assert other.rows(COUNT) == [(1,)]
    queue = client.value("SELECT OBJECT_ID(N'dbo.TQ')")
    assert client.rows("""SELECT it.name, it.internal_type, it.is_ms_shipped
        FROM sys.internal_tables AS it JOIN sys.service_queues AS q ON it.parent_id = q.object_id
        WHERE it.internal_type_desc = 'QUEUE_MESSAGES' AND q.name = 'TQ'""") == [
        (f"queue_messages_{queue}", 201, 1)
    ]
    assert client.rows(
        "SELECT row_count FROM sys.dm_db_partition_stats WHERE object_id = "
        "(SELECT object_id FROM sys.internal_tables WHERE parent_id = "
        "OBJECT_ID(N'dbo.TQ'))"
    ) == [(1,)]


def test_the_internal_tables_of_the_system_queues_have_their_known_ids(client):
    assert client.rows("""SELECT name, object_id FROM sys.internal_tables
        WHERE parent_id > 1900000000 ORDER BY object_id""") == [
        ("queue_messages_1977058079", 1993058136),
        ("queue_messages_2009058193", 2025058250),
        ("queue_messages_2041058307", 2057058364),
    ]


def test_a_queue_cannot_be_temporary(client):
    """CREATE QUEUE page: names that start with # are not allowed; the number is not told."""
    assert client.error("CREATE QUEUE #q").number == 60001
    client.run("CREATE MESSAGE TYPE #m; CREATE ROUTE #r WITH ADDRESS = 'LOCAL'")  # permanent ones


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT dbo.TQ (status) VALUES (1)",
        "UPDATE dbo.TQ SET status = 1",
        "DELETE dbo.TQ",
        "TRUNCATE TABLE dbo.TQ",
        "CREATE INDEX i ON dbo.TQ (status)",
        "CREATE TRIGGER t ON dbo.TQ AFTER INSERT AS RETURN",
    ],
)
def test_nothing_but_the_brokers_verbs_changes_a_queue(client, sql):
    client.dialog(SEND)
    assert client.error(sql).number in {60001, 1088, 8197}
    assert client.value("SELECT COUNT(*) FROM dbo.TQ") == 1
