"""usp_LandBatch: the envelope is read on landing, and nothing in a body can stop it."""

import uuid

import pytest

from redial.deploy.apply import installation as in_order
from tests.installed import rendered, split

from .lab import Client, Lab, configured, send

WHO = {"envelope": {"who": True}}
COLUMNS = (
    "SELECT Body, ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, "
    "SenderHost FROM audit.Landing WHERE MessageType = N'//redial/audit/event' ORDER BY RowVersion;"
)
ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def envelope(body: bytes = b"", key: str = "", sequence: int = 0, sent: int = 0) -> bytes:
    """The bytes F-146 describes."""
    name = key.encode("utf-16-le")
    return (
        b"RDL1"
        + (46 + len(name)).to_bytes(2, "big")
        + ID.bytes_le
        + sequence.to_bytes(8, "big")
        + sent.to_bytes(8, "big")
        + len(name).to_bytes(2, "big")
        + bytes(6)
        + name
        + body
    )


def land(lab: Lab, bodies: list[bytes]) -> None:
    """Send bytes past usp_Send, as a resend or a stranger does."""
    send_all = "".join(
        f"SEND ON CONVERSATION @h MESSAGE TYPE [//redial/audit/event] (0x{body.hex()});"
        for body in bodies
    )
    lab.sa.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract] "
        f"WITH ENCRYPTION = OFF; {send_all}"
    )
    lab.advance(5)


def test_who_sent_and_when_is_landed_and_the_body_is_byte_exact():
    lab = Lab(configured(**WHO))
    Client(lab).execute(send("0x000102"))
    lab.advance(5)
    ((body, key, number, message_id, sent, login, app, host),) = lab.rows(COLUMNS)
    assert body == b"\x00\x01\x02"
    assert (key, number, message_id) == (None, None, None)
    assert sent is not None
    assert login == "sa"
    assert (app or "") == lab.sa.value("APP_NAME()") and (host or "") == lab.sa.value("HOST_NAME()")


@pytest.mark.parametrize("body", ["0x00", "0x000000", "0x0100"])
def test_zero_bytes_are_a_body_and_not_an_empty_one(body):
    lab = Lab(configured(**WHO))
    Client(lab).execute(send(body))
    lab.advance(5)
    assert lab.rows(COLUMNS)[0][0] == bytes.fromhex(body[2:])


def test_an_empty_body_in_an_envelope_lands_as_NULL():
    lab = Lab(configured(**WHO))
    Client(lab).execute(send("NULL"))
    lab.advance(5)
    assert lab.rows(COLUMNS)[0][0] is None


def test_every_stamp_of_an_envelope_lands_in_its_column():
    lab = Lab(configured(**WHO))
    land(lab, [envelope(b"x", "k\u00e9y", 7, 86_400_001)])
    ((body, key, number, message_id, sent, *who),) = lab.rows(COLUMNS)
    assert (body, key, number) == (b"x", "k\u00e9y", 7)
    assert str(message_id).upper() == str(ID).upper()
    assert str(sent).startswith("1970-01-02 00:00:00.001")
    assert who == [None, None, None]


BROKEN = [
    b"R",
    b"RDL",
    b"RDL1",
    b"RDL1" + b"\xff" * 2,
    b"RDL1" + b"\xff" * 42,
    b"RDL1" + bytes(42),
    b"RDL2" + envelope(b"x")[4:],
    envelope(b"x", "key")[:50],
    envelope(b"x", "key")[:46] + b"\x00" * 3,
    b"\x00" * 46,
    b"RDL1\x00\x2e" + b"\xff" * 40,
    envelope(b"x")[:38] + b"\xff" * 8 + b"x" * 100,
]


def test_a_broken_envelope_never_raises_it_lands_as_it_is():
    lab = Lab(configured(**WHO))
    land(lab, BROKEN)
    rows = lab.rows(COLUMNS)
    assert [row[0] for row in rows] == BROKEN
    assert {row[1:] for row in rows} == {(None,) * 7}
    # Sent by hand, so there is no copy.
    assert [procedure for procedure, *_ in lab.errors()] == ["usp_DropCopies"]
    assert lab.rows("SELECT COUNT(*) FROM audit.DeadLetter;") == [(0,)]


@pytest.mark.parametrize("sent", [2**63, 2**64 - 1, 253_402_300_800_000])
def test_a_moment_no_clock_shows_is_NULL_and_the_rest_is_read(sent):
    lab = Lab(configured(**WHO))
    land(lab, [envelope(b"x", "key", 3, sent)])
    ((body, key, number, _, moment, *_),) = lab.rows(COLUMNS)
    assert (body, key, number, moment) == (b"x", "key", 3, None)


def test_without_an_envelope_in_the_configuration_bytes_that_look_like_one_stay():
    lab = Lab()
    land(lab, [envelope(b"x")])
    assert lab.bodies() == [envelope(b"x")]


def test_it_refuses_to_run_outside_a_transaction():
    lab = Lab()
    assert (
        lab.sa.fail(
            "DECLARE @rows audit.ReceivedBatch, @id uniqueidentifier = NEWID(); "
            "EXECUTE audit.usp_LandBatch @id, @id, @rows;"
        )
        == 50212
    )


def test_a_later_version_brings_a_type_of_its_own_and_then_the_old_one_can_go():
    """F-160: a type in use cannot be dropped or altered, so its name changes."""
    lab = Lab()
    assert lab.sa.fail("DROP TYPE audit.ReceivedBatch;") == 3732
    files = rendered(lab.config)
    for text in (files[name] for name in in_order(files)):
        if "ReceivedBatch" in text:
            for batch in split(text.replace("ReceivedBatch", "ReceivedBatch2")):
                lab.sa.execute(batch.sql)
    lab.sa.execute("DROP TYPE audit.ReceivedBatch;")
    land(lab, [b"1", b"2"])
    assert lab.bodies() == [b"1", b"2"]
