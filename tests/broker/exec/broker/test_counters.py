"""sys.dm_os_performance_counters: the Broker objects count what was done."""

SEND = "SEND ON CONVERSATION @h MESSAGE TYPE [//m] (N'x')"


def counters(client) -> dict[str, int]:
    """Counters that are not zero, by name."""
    return dict(
        client.rows("""SELECT RTRIM(counter_name), cntr_value
        FROM sys.dm_os_performance_counters WHERE cntr_value <> 0""")
    )


def test_nothing_has_happened_at_the_start(client):
    assert counters(client) == {}
    assert (
        client.value("""SELECT COUNT(*) FROM sys.dm_os_performance_counters
        WHERE object_name = 'SQLServer:Broker Statistics'""")
        == 36
    )


def test_sends_receives_and_messages_are_counted(client):
    client.dialog(SEND + ";" + SEND)
    client.run("RECEIVE * FROM dbo.TQ; RECEIVE * FROM dbo.TQ")
    assert counters(client) == {
        "SQL SEND Total": 2,
        "SQL SENDs/sec": 2,
        "SQL RECEIVE Total": 2,
        "SQL RECEIVEs/sec": 2,
        "Enqueued Local Messages Total": 2,
        "Enqueued Local Messages/sec": 2,
        "Enqueued Messages Total": 2,
        "Enqueued Messages/sec": 2,
        "Enqueued P5 Msgs/sec": 2,
    }


def test_priorities_the_transmission_queue_and_rollbacks_are_counted(client):
    client.run("""CREATE BROKER PRIORITY p FOR CONVERSATION SET (PRIORITY_LEVEL = 8);
        ALTER QUEUE dbo.TQ WITH STATUS = OFF""")
    client.dialog(SEND)
    client.run("ALTER QUEUE dbo.TQ WITH STATUS = ON")
    client.run("BEGIN TRAN; RECEIVE * FROM dbo.TQ; ROLLBACK")
    found = counters(client)
    assert (
        found["Enqueued P8 Msgs/sec"],
        found["Enqueued Transmission Msgs/sec"],
        found["Dequeued Transmission Msgs/sec"],
        found["Broker Transaction Rollbacks"],
    ) == (1, 1, 1, 1)


def test_activation_is_counted(client, instance):
    client.run("CREATE PROCEDURE dbo.reader AS SET XACT_ABORT ON; SELECT CAST('x' AS int)")
    client.run("""ALTER QUEUE dbo.TQ WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.reader,
        MAX_QUEUE_READERS = 1, EXECUTE AS OWNER)""")
    client.dialog(SEND)
    found = counters(client)
    assert (
        found["Tasks Started/sec"],
        found["Tasks Aborted/sec"],
        found["Activation Errors Total"],
    ) == (1, 1, 1)
    assert "Tasks Running" not in found


def test_they_need_view_server_state(client):
    client.run("CREATE USER clerk WITHOUT LOGIN; EXECUTE AS USER = 'clerk'")
    assert client.error("SELECT * FROM sys.dm_os_performance_counters").number == 300
