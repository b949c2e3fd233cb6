"""A healthy installation is quiet: no finding comes of load, recycling, a deployment or a drain."""

from __future__ import annotations

import pytest

from tests.product.sql.lab import Client, Lab, configured, send

from .scenario import deploy, ids

CONFIGS_TRIED = {
    "a dialog per session, timers": configured(
        timer={"after_seconds": 300, "spread_seconds": 60, "retry_seconds": 5}
    ),
    "a dialog per key, by age": configured(
        conversation={"key": "application", "recycle": "aged_out", "order": "key"},
        landing={"order_index": True},
    ),
    "a pool, exactly once": configured(
        conversation={"key": "pool", "recycle": "aged_out", "delivery": "exactly_once"}
    ),
    "a dialog per message": configured(conversation={"key": "message", "recycle": "never"}),
}


@pytest.mark.parametrize("name", CONFIGS_TRIED)
def test_an_hour_of_load_recycling_a_deployment_and_a_drain_give_no_finding(name):
    lab = Lab(CONFIGS_TRIED[name])
    clients = [Client(lab) for _ in range(3)]
    key = "N'k{}'" if "per key" in name else ""
    for minute in range(60):
        # 1. Three callers send, a little apart.
        for number, client in enumerate(clients):
            client.execute(send(f"0x{minute:02X}{number:02X}", key=key.format(number) or None))
            lab.advance(7)
        # 2. Somebody looks while messages are on their way.
        if minute % 6 == 0:
            assert ids(lab) == set(), f"minute {minute}"
        # 3. In the middle it is deployed again, and later drained.
        if minute == 30:
            for client in clients:
                lab.instance.disconnect(client.session)
            deploy(lab)
            clients = [Client(lab) for _ in range(3)]
        if minute == 45:
            for client in clients:
                lab.instance.disconnect(client.session)
            drain = Client(lab)
            drain.submit("EXECUTE audit.usp_Drain @reason = N'maintenance', @WhatIf = 0;")
            lab.advance(120)
            assert drain.out.finished and not drain.errors, drain.errors
            drain.execute("EXECUTE audit.usp_OpenGate @reason = N'over';")
            clients = [Client(lab) for _ in range(3)]
        lab.advance(39)
    lab.advance(60)
    assert ids(lab) == set()
    assert len(lab.bodies()) == 180


def test_who_looks_waits_for_nobody_and_keeps_no_lock():
    """Never in the way of a sender or a reader, and never a victim: it holds nothing while it reads."""
    lab = Lab()
    sender, reader, watcher = Client(lab), Client(lab), Client(lab)
    # 1. A sender has sent and not committed, a reader has received and not committed.
    sender.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    sender.execute(send("0x02"))
    sender.execute("BEGIN TRANSACTION; " + send("0x03"))
    reader.execute("BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue;")
    # 2. Somebody looks, inside a transaction: the report comes at once.
    watcher.execute("BEGIN TRANSACTION; EXECUTE audit.usp_Health;")
    # 3. He has no lock on anything of ours.
    held = lab.rows(
        "SELECT tl.resource_type, tl.request_mode FROM sys.dm_tran_locks AS tl "
        "INNER JOIN sys.objects AS o ON o.object_id = tl.resource_associated_entity_id "
        f"WHERE tl.request_session_id = {watcher.session.id} AND tl.resource_type = N'OBJECT' "
        "AND o.schema_id = SCHEMA_ID(N'audit');"
    )
    assert [mode for _, mode in held if mode not in ("Sch-S", "IS")] == []
    # 4. The others go on.
    sender.execute("COMMIT;")
    reader.execute("COMMIT;")
    watcher.execute("COMMIT;")
