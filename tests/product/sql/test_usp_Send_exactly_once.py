"""delivery = exactly_once, what the sender does: one id for a message, whatever happens to it."""

import re

import pytest

from .lab import Client, Lab, configured, send

ID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def lab():
    return Lab(configured(conversation={"delivery": "exactly_once"}))


@pytest.fixture
def client(lab):
    return Client(lab)


def ids(lab: Lab) -> list[str]:
    """Ids of what has landed, in the order of landing; upper case."""
    found = lab.rows(
        "SELECT MessageId FROM audit.Landing WHERE Body IS NOT NULL ORDER BY RowVersion;"
    )
    return [str(row[0]).upper() for row in found]


def test_a_message_carries_the_id_its_caller_gave(lab, client):
    """Feature dedupe / idempotency: the id by which the target tells a repeat."""
    client.execute(send("0x01", message_id=f"'{ID}'"))
    assert ids(lab) == [ID]
    assert lab.bodies() == [b"\x01"]


def test_without_one_every_call_makes_an_id_of_its_own(lab, client):
    client.execute(send("0x01") + send("0x01"))
    first, second = ids(lab)
    assert first != second and "NONE" not in (first, second)


def test_an_id_of_zeros_is_refused_it_stands_for_none(lab, client):
    zeros = re.sub("[1-9]", "0", ID)
    assert client.fail(send(message_id=f"'{zeros}'")) == 50100
    assert "@messageId must be NULL or an id of its own" in client.errors[0].text


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "BEGIN TRANSACTION;"])
def test_the_id_is_kept_while_the_call_starts_over(lab, client, settings):
    """A dead dialog: two attempts, one message, one id. Thread ST#188."""
    client.execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute(settings + send("0x02", message_id=f"'{ID}'") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert ids(lab)[1:] == [ID]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_a_resend_carries_the_same_id_so_the_target_can_drop_a_repeat(lab, client):
    """F-110: a message whose acknowledgement was lost is pending here and landed there."""
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(send("0x01", message_id=f"'{ID}'"))
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending @handle = '{lab.handle()}', @code = -8489;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert ids(lab) == [ID]


@pytest.mark.parametrize("body", ["NULL", "0x"])
def test_a_message_without_a_body_has_an_id_too(lab, client, body):
    client.execute(send(body, message_id=f"'{ID}'"))
    assert lab.rows("SELECT MessageId, Body FROM audit.Landing;")[0][1] is None
    assert str(lab.rows("SELECT MessageId FROM audit.Landing;")[0][0]).upper() == ID


def test_a_body_that_looks_like_an_envelope_arrives_as_it_was_sent(lab, client):
    forged = "0x52444C31" + "00" * 60
    client.execute(send(forged))
    assert lab.bodies() == [bytes.fromhex(forged[2:])]
