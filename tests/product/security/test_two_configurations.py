"""One principal per configuration: what the module user of one may do to another beside it."""

from __future__ import annotations

import pytest

from redial.config.choices import Signing
from tests.installed import rendered, split
from tests.product.sql.lab import Client, Lab, configured, send

FIRST = configured(security={"signing": Signing.CERTIFICATE})
SECOND = configured(
    security={"signing": Signing.CERTIFICATE},
    services={"initiator": "//second/initiator", "target": "//second/target"},
    contract={"name": "//second/contract"},
    roles={"module": "second_module", "sender": "second_sender"},
).model_copy(update={"name": "second", "schema_name": "second"})


@pytest.fixture(scope="module")
def lab() -> Lab:
    """audit and second in one database, each with a conversation of its own."""
    made = Lab(FIRST)
    for name, text in rendered(SECOND).items():
        if name[:2].isdigit():
            for batch in split(text):
                made.sa.execute(batch.sql)
    made.sa.execute(send("0x01"))
    made.sa.execute(
        "EXECUTE second.usp_Send N'//second/initiator', N'//second/target', "
        "N'//second/contract', N'//redial/audit/event', 0x02;"
    )
    made.settle()
    return made


def handles(lab: Lab, schema: str) -> list[str]:
    return [h for (h,) in lab.rows(f"SELECT Handle FROM {schema}.SessionConversations;")]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {other}.Landing",
        "SELECT * FROM {other}.SessionConversations",
        "DELETE FROM {other}.DeadLetter",
        "RECEIVE * FROM {other}.TargetQueue",
        "EXECUTE {other}.usp_EndLeaked",
        "EXECUTE {other}.usp_ResendPending '{handle}', 1",
        "END CONVERSATION '{handle}'",
        "END CONVERSATION '{handle}' WITH CLEANUP",
        "BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 1",
        "SEND ON CONVERSATION '{handle}' MESSAGE TYPE [EndOfStream]",
        "ALTER QUEUE {other}.TargetQueue WITH STATUS = OFF",
        "DROP SERVICE [//second/target]",
        "ALTER PROCEDURE {other}.usp_Send AS RETURN 0",
        "EXECUTE AS USER = N'second_module'",
    ],
)
def test_the_module_user_of_one_touches_nothing_of_the_other(lab, text):
    (handle,) = handles(lab, "second")
    before = lab.rows("SELECT state, conversation_handle FROM sys.conversation_endpoints;")
    client = Client(lab)
    assert (
        client.fail(
            "EXECUTE AS USER = N'audit_module'; " + text.format(other="second", handle=handle)
        )
        > 0
    )
    assert lab.rows("SELECT state, conversation_handle FROM sys.conversation_endpoints;") == before


def test_its_signed_procedures_refuse_a_conversation_of_the_other(lab):
    """In db_owner while they run, so they look themselves whose conversation it is (50112)."""
    (handle,) = handles(lab, "second")
    assert lab.sa.fail(f"EXECUTE audit.usp_ResendPending @handle = '{handle}', @code = 1;") == 50112
    lab.sa.execute("EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = 0;")
    assert handles(lab, "second") == [handle]


def test_each_has_a_certificate_of_its_own(lab):
    names = [name for (name,) in lab.rows("SELECT name FROM sys.certificates ORDER BY name;")]
    assert [name[:-36] for name in names] == ["redial_audit_signing_", "redial_second_signing_"]


def test_a_sender_of_one_is_no_sender_of_the_other(lab):
    lab.sa.execute("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    client = Client(lab)
    client.execute("EXECUTE AS USER = N'app'; " + send("0x03"))
    assert client.fail("EXECUTE second.usp_Send N'a', N'b', N'c', N'd', 0x04;") == 229
