"""sys.dm_broker_activated_tasks and sys.dm_broker_queue_monitors."""


def test_a_running_task_is_listed_and_its_monitor_is_notified(session, instance, rows):
    session.execute("CREATE PROCEDURE audit.usp_Activated AS WAITFOR DELAY '00:01:00'")
    session.execute(
        "CREATE QUEUE audit.Q WITH ACTIVATION (PROCEDURE_NAME = audit.usp_Activated, "
        "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)"
    )
    session.execute("CREATE SERVICE [//S] ON QUEUE audit.Q ([DEFAULT])")
    assert rows("SELECT state FROM sys.dm_broker_queue_monitors") == [("INACTIVE",)]
    answer = session.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//S] TO SERVICE '//S' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01)"
    )
    assert not answer.errors
    assert rows("SELECT state FROM sys.dm_broker_queue_monitors") == [("NOTIFIED",)]
    ((spid, procedure, queue),) = rows(
        "SELECT spid, procedure_name, OBJECT_NAME(queue_id) FROM sys.dm_broker_activated_tasks"
    )
    assert spid < 51 and "usp_Activated" in procedure and queue == "Q"
    assert rows(
        "SELECT status, is_user_process FROM sys.dm_exec_sessions WHERE session_id < 51"
    ) == [("background", 0)]
