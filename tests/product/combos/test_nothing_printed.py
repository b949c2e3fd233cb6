"""What an activated procedure prints goes to the server's error log (9724): ours print nothing.

Ten thousand messages (with --full) by the four shipped configurations: recycled, refused by Landing,
resent after an error of the dialog, dead-lettered. The embedded broker has the warnings that could come.
"""

from __future__ import annotations

import pytest

from redial.config import load
from redial.paths import CONFIGS
from redial_broker.instance.instance import Instance
from tests.product.sql.two import Two
from tests.sampling import full

from .lab import DATABASE, Lab, empty_instance

SHIPPED = ("audit", "etl", "logging", "orders")
MESSAGES = 2_500 if full() else 500
"""A configuration; the gate sends a fifth of them."""
REFUSES = (
    "CREATE OR ALTER TRIGGER {schema}.TR_Landing ON {landing} AFTER INSERT AS BEGIN SET NOCOUNT ON; "
    "IF EXISTS (SELECT 1 FROM inserted WHERE Body = 0x66) THROW 60001, N'no', 1; END;"
)
FAILS = (
    "DECLARE @h uniqueidentifier = (SELECT TOP (1) ce.conversation_handle FROM "
    "sys.conversation_endpoints AS ce WHERE ce.is_initiator = 0 AND ce.state = 'CO'); "
    "IF @h IS NOT NULL END CONVERSATION @h WITH ERROR = 1 DESCRIPTION = N'by hand';"
)


def printed(instance: Instance) -> list[str]:
    """Lines of activated procedures in the server's error log."""
    return [text for _, _, text in instance.error_log.lines if "output the following" in text]


@pytest.mark.parametrize("name", SHIPPED)
def test_activated_procedures_print_nothing_whatever_becomes_of_the_messages(name):
    with empty_instance() as instance:
        # 1. one installation, whose Landing refuses one body
        lab = Lab(instance, load(CONFIGS / f"{name}.toml"))
        lab.deploy()
        lab.run(REFUSES.format(schema=lab.config.schema_name, landing=lab.own("Landing")))
        callers = [lab.caller(key) for key in "ABCDE"]
        # 2. callers send, dialogs are recycled, one fails, one message is refused
        for number in range(MESSAGES):
            callers[number % 5].send(lab.body() if number % 125 else b"\x66")
            if not number % 100:
                lab.advance(4000)
                lab.run(FAILS)
        lab.advance(10_000)
        # 3. all of them have gone through the activated procedures, and the log has no line of theirs
        landed = lab.rows(f"SELECT COUNT(*) FROM {lab.own('Landing')};")[0][0]
        assert landed >= MESSAGES - MESSAGES // 125
        assert printed(instance) == []


def test_they_print_nothing_where_the_target_has_a_database_of_its_own():
    two = Two()
    for number in range(100):
        two.send(f"0x{number + 1:02X}")
        if not number % 20:
            two.instance.advance(90)  # recycled: an EndOfStream, an EndDialog
    two.instance.advance(600)
    assert len(two.bodies()) == 100
    assert printed(two.instance) == []


def test_a_line_that_is_printed_would_be_seen():
    with empty_instance() as instance:
        session = instance.connect(DATABASE)
        session.execute("CREATE QUEUE q; CREATE SERVICE s ON QUEUE q ([DEFAULT]);").ok()
        session.execute(
            "CREATE PROCEDURE dbo.p AS SELECT a.object_id FROM sys.objects AS a INNER LOOP JOIN "
            "sys.objects AS b ON b.object_id = a.object_id; RECEIVE * FROM q;"
        ).ok()
        session.execute(
            "ALTER QUEUE q WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.p, "
            "MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);"
            "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE s TO SERVICE N's' "
            "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01);"
        ).ok()
        instance.advance(5)
        assert any("local join hint" in text for _, _, text in instance.error_log.lines)
