"""DMVs over locks, waits, sessions, requests and transactions; Service Broker views."""

import pytest


@pytest.fixture
def blocked(session, instance):
    """A session that waits for a row another one has inserted and not committed."""
    session.execute("CREATE TABLE dbo.T (a int PRIMARY KEY)")
    session.execute("BEGIN TRAN; INSERT dbo.T VALUES (1)")
    waiter = instance.connect("App")
    waiter.execute("SELECT * FROM dbo.T")
    instance.advance(3)
    return session, waiter, instance.connect("App")


def test_locks_show_holders_and_waiters(blocked):
    holder, waiter, reader = blocked
    found = reader.execute(
        "SELECT resource_type, request_mode, request_status, request_session_id "
        "FROM sys.dm_tran_locks WHERE resource_type <> 'DATABASE'"
    ).rows()
    assert ("KEY", "X", "GRANT", holder.id) in found
    assert ("KEY", "S", "WAIT", waiter.id) in found
    assert ("OBJECT", "IX", "GRANT", holder.id) in found


def test_a_key_locks_entity_is_its_index(blocked):
    _, _, reader = blocked
    found = reader.execute(
        "SELECT DISTINCT OBJECT_NAME(p.object_id) FROM sys.dm_tran_locks AS l JOIN sys.partitions "
        "AS p ON p.hobt_id = l.resource_associated_entity_id WHERE l.resource_type = 'KEY'"
    ).rows()
    assert found == [("T",)]


def test_waits_name_the_blocker_and_how_long(blocked):
    holder, waiter, reader = blocked
    ((session_id, blocker, kind, waited, text),) = reader.execute(
        "SELECT session_id, blocking_session_id, wait_type, wait_duration_ms, resource_description "
        "FROM sys.dm_os_waiting_tasks"
    ).rows()
    assert (session_id, blocker, kind, waited) == (waiter.id, holder.id, "LCK_M_S", 3000)
    assert text.startswith("keylock hobtid=")


def test_requests_and_sessions_agree(blocked):
    holder, waiter, reader = blocked
    found = reader.execute(
        "SELECT r.session_id, r.status, r.blocking_session_id, r.wait_type, "
        "s.status FROM sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s "
        "ON s.session_id = r.session_id ORDER BY r.session_id"
    ).rows()
    assert (waiter.id, "suspended", holder.id, "LCK_M_S", "running") in found


def test_open_transactions_show_log_and_owner(blocked):
    holder, _, reader = blocked
    found = reader.execute(
        "SELECT s.session_id, a.name, d.database_transaction_log_bytes_used "
        "FROM sys.dm_tran_active_transactions AS a "
        "JOIN sys.dm_tran_session_transactions AS s ON s.transaction_id = a.transaction_id "
        "JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = a.transaction_id "
        "WHERE s.is_user_transaction = 1"
    ).rows()
    assert [(row[0], row[1]) for row in found] == [(holder.id, "user_transaction")]
    assert found[0][2] > 0


def test_a_conversation_is_seen_from_both_sides(session, rows):
    session.execute("CREATE QUEUE audit.Q; CREATE SERVICE [//S] ON QUEUE audit.Q ([DEFAULT])")
    answer = session.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//S] TO SERVICE '//S' "
        "WITH ENCRYPTION = OFF, LIFETIME = 60; SEND ON CONVERSATION @h (0x01); SELECT @h"
    )
    assert not answer.errors
    found = rows(
        "SELECT is_initiator, state, state_desc, far_service, DATEDIFF(second, "
        "GETUTCDATE(), lifetime), send_sequence, receive_sequence FROM "
        "sys.conversation_endpoints ORDER BY is_initiator DESC"
    )
    assert found == [
        (1, "CO", "CONVERSING", "//S", 60, 1, 0),
        (0, "CO", "CONVERSING", "//S", 60, 0, 1),
    ]
    assert rows(
        "SELECT COUNT(DISTINCT conversation_id), COUNT(DISTINCT conversation_handle) "
        "FROM sys.conversation_endpoints"
    ) == [(1, 2)]
    assert rows("SELECT COUNT(*) FROM sys.conversation_groups") == [(2,)]


def test_another_sessions_uncommitted_dialog_is_not_seen(session, instance):
    session.execute("CREATE QUEUE audit.Q; CREATE SERVICE [//S] ON QUEUE audit.Q ([DEFAULT])")
    session.execute(
        "BEGIN TRAN; DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//S] "
        "TO SERVICE '//S' WITH ENCRYPTION = OFF"
    )
    count = "SELECT COUNT(*) FROM sys.conversation_endpoints"
    assert instance.connect("App").execute(count).one() == 0
    assert session.execute(count).one() == 1


def test_queues_show_their_options(session, rows):
    session.execute(
        "CREATE QUEUE audit.Q WITH STATUS = OFF, RETENTION = ON, ACTIVATION (STATUS = "
        "OFF, PROCEDURE_NAME = audit.usp_Add, MAX_QUEUE_READERS = 3, "
        "EXECUTE AS OWNER), POISON_MESSAGE_HANDLING (STATUS = OFF)"
    )
    assert rows(
        "SELECT name, type, is_receive_enabled, is_retention_enabled, max_readers, "
        "execute_as_principal_id, is_activation_enabled, "
        "is_poison_message_handling_enabled FROM sys.service_queues "
        "WHERE is_ms_shipped = 0"
    ) in ([("Q", "SQ", 0, 1, 3, -2, 0, 0)], [])


def test_every_declared_view_can_be_read_and_has_its_columns(session):
    from redial_broker.catalog.views import DECLARED, REFUSED_COLUMN

    for name, declared in DECLARED.items():
        answer = session.execute(f"SELECT * FROM {name}")
        assert not answer.errors, (name, answer.errors)
        shown = [c.name for c in declared.columns if c.mark != REFUSED_COLUMN]
        assert answer.result_sets[0].names == shown, name
        for row in answer.rows():
            for column, value in zip(answer.result_sets[0].columns, row):
                assert value is not None or column.nullable, (name, column.name)


def test_a_refused_column_is_an_invalid_name(session):
    assert session.execute("SELECT cpu_time FROM sys.dm_exec_requests").error().number == 207


def test_a_view_only_a_server_has_is_refused_by_name(session):
    assert session.execute("SELECT * FROM sys.dm_os_ring_buffers").error().number == 60001
