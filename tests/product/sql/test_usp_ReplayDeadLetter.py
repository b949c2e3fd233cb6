"""usp_ReplayDeadLetter: byte-exact, in order, once, with who and why.

Feature poison handling: the table of poison messages with list, replay and purge (jdaigle's
ServiceBusWatcher, thread goal "a DBA can list, replay and purge poison messages").
"""

import pytest

from .bare import another
from .lab import AUDIT, ERROR, Client, Lab, configured, send

EVENT = "//redial/audit/event"
REPLAY = "EXECUTE audit.usp_ReplayDeadLetter {}, @reason = N'mended', @WhatIf = 0;"
ONE, OTHER = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"


@pytest.fixture
def lab():
    return Lab()


def put(lab: Lab, *letters: tuple[str, int, str | None], side: str = "target") -> None:
    """Dead letters by hand: (conversation, sequence, body as a literal)."""
    for conversation, sequence, body in letters:
        lab.sa.execute(
            "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, MessageType, "
            f"Body) VALUES (N'{side}', '{conversation}', {sequence}, N'{EVENT}', {body or 'NULL'});"
        )


def outcomes(lab: Lab, sql: str) -> list[str]:
    return [row[-1] for row in lab.rows(sql)]


def test_by_default_it_only_shows(lab):
    put(lab, (ONE, 0, "0x01"))
    assert outcomes(lab, "EXECUTE audit.usp_ReplayDeadLetter 1;") == ["would be replayed"]
    lab.settle()
    assert lab.bodies() == []
    assert lab.rows("SELECT HandledUtc FROM audit.DeadLetter;") == [(None,)]


@pytest.mark.parametrize("side", ["target", "initiator"])
def test_letters_arrive_byte_by_byte_in_sequence_order_on_a_dialog_per_conversation(lab, side):
    long = "0x" + "AB" * 9000
    put(lab, (ONE, 7, "0x07"), (ONE, 3, long), (OTHER, 1, None), (ONE, 5, "0x05"), side=side)
    assert outcomes(lab, REPLAY.format("1, 4")) == ["replayed"] * 4
    lab.advance(5)
    assert lab.bodies() == [b"\xab" * 9000, b"\x05", b"\x07", None]
    kinds = [kind for _, kind, _ in lab.landed()]
    assert kinds == [EVENT] * 3 + ["EndOfStream", EVENT, "EndOfStream"]
    assert lab.endpoints() == [("CD", 0)] * 2


def test_none_is_replayed_twice(lab):
    put(lab, (ONE, 0, "0x01"))
    lab.rows(REPLAY.format("1"))
    ((outcome,),) = [row[-1:] for row in lab.rows(REPLAY.format("1"))]
    assert outcome.startswith("kept: replayed at ")
    lab.settle()
    assert lab.bodies() == [b"\x01"]


def test_two_operators_at_once_replay_each_letter_once(lab):
    """The second passes over what the first holds, and waits for nobody."""
    put(lab, (ONE, 0, "0x01"), (ONE, 1, "0x02"))
    other = Client(lab)
    other.execute(
        "BEGIN TRANSACTION; UPDATE audit.DeadLetter SET HandledUtc = SYSUTCDATETIME(), "
        "HandledBy = N'x', Handling = N'replayed' WHERE DeadLetterId = 1;"
    )
    assert outcomes(lab, REPLAY.format("1, 2")) == ["replayed"]
    other.execute("COMMIT;")
    lab.settle()
    assert lab.bodies() == [b"\x02"]


def test_who_why_and_when_is_kept_with_the_letter_and_in_the_log(lab):
    put(lab, (ONE, 0, "0x01"))
    lab.rows(REPLAY.format("1"))
    ((by, how, why),) = lab.rows(
        "SELECT HandledBy, Handling, HandlingReason FROM audit.vw_DeadLetters "
        "WHERE HandledUtc IS NOT NULL;"
    )
    assert (by, how, why) == ("sa", "replayed", "mended")
    assert lab.rows("SELECT Action, Login, Reason FROM audit.OperatorLog;") == [
        ("replay dead letters", "sa", "mended")
    ]


def test_what_no_caller_could_send_is_not_sent_again(lab):
    """EndOfStream belongs to its dialog; EndDialog and Error are no messages."""
    for kind in ("N'EndOfStream'", f"N'{ERROR}'", "NULL"):
        lab.sa.execute(
            "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, MessageType) "
            f"VALUES (N'initiator', '{ONE}', 0, {kind});"
        )
    assert (
        outcomes(lab, REPLAY.format("1, 3"))
        == ["kept: its message type is not one that callers send"] * 3
    )
    assert lab.endpoints() == []


def test_a_poisoned_message_is_listed_mended_and_replayed(lab):
    """Feature poison handling: jdaigle lists, resends and purges, without saying who did and why.

    From the poison to the landing table, as an operator does it."""
    lab.sa.execute("ALTER TABLE audit.Landing ADD CONSTRAINT poison CHECK (Body <> 0xBAD0);")
    client = Client(lab)
    for body in ("0x01", "0xBAD0", "0x03"):
        client.execute(send(body))
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x03"]
    ((letter, size),) = lab.rows("SELECT DeadLetterId, BodyBytes FROM audit.vw_DeadLetters;")
    assert size == 2
    lab.sa.execute("ALTER TABLE audit.Landing DROP CONSTRAINT poison;")
    lab.rows(REPLAY.format(letter))
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x03", b"\xba\xd0"]


def test_the_stamps_of_a_message_are_kept_and_a_repeat_is_still_dropped():
    """order = key, exactly_once, who: the envelope goes out as it was, so the inbox knows it."""
    lab = Lab(
        configured(
            conversation={"order": "key", "delivery": "exactly_once"}, envelope={"who": True}
        )
    )
    lab.sa.execute("ALTER TABLE audit.Landing ADD CONSTRAINT poison CHECK (Body <> 0xBAD0);")
    client = Client(lab)
    for body in ("0x01", "0xBAD0", "0x03"):
        client.execute(send(body))
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x03"]
    lab.sa.execute("ALTER TABLE audit.Landing DROP CONSTRAINT poison;")
    lab.rows(REPLAY.format("1"))
    lab.advance(5)
    stamps = "SELECT KeySequence, SenderLogin FROM audit.Landing WHERE Body = 0xBAD0;"
    assert lab.rows(stamps) == [(2, "sa")]
    lab.sa.execute("UPDATE audit.DeadLetter SET HandledUtc = NULL;")  # as if by mistake
    lab.rows(REPLAY.format("1"))
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x03", b"\xba\xd0"]


def test_nothing_is_marked_where_the_send_fails(lab):
    put(lab, (ONE, 0, "0x01"))
    lab.sa.execute(
        "CREATE TRIGGER audit.stop ON audit.OperatorLog AFTER INSERT AS THROW 51000, N'x', 1;"
    )
    assert outcomes(lab, REPLAY.format("1")) == ["kept: failed with 51000: x"]
    assert lab.rows("SELECT HandledUtc FROM audit.DeadLetter;") == [(None,)]
    assert lab.endpoints() == []


def test_one_letter_that_cannot_be_sent_is_named_and_blocks_no_other(lab):
    """The three of its conversation are tried one by one, the other conversation is not touched."""
    put(lab, (ONE, 0, "0x01"), (ONE, 1, "0xBAD0"), (ONE, 2, "0x03"), (OTHER, 0, "0x04"))
    lab.sa.execute("ALTER TABLE audit.SentMessage ADD CONSTRAINT bad CHECK (Body <> 0xBAD0);")
    told = outcomes(lab, REPLAY.format("1, 4"))
    assert told[0] == told[2] == told[3] == "replayed"
    assert told[1].startswith("kept: failed with 547: ")
    lab.advance(5)
    assert sorted(lab.bodies()) == [b"\x01", b"\x03", b"\x04"]
    left = "SELECT DeadLetterId FROM audit.vw_DeadLetters WHERE HandledUtc IS NULL;"
    assert lab.rows(left) == [(2,)]


def test_a_body_that_is_no_xml_is_named_where_its_type_asks_for_xml():
    """Found by hand: raw 8429 without the letter's number, and nothing of the range was sent."""
    types = [{"name": EVENT, "validation": "well_formed_xml"}]
    lab = Lab(another(AUDIT, message_types=types))
    good, bad = "CONVERT(varbinary(max), N'<a/>')", "CONVERT(varbinary(max), N'<a>')"
    put(lab, (ONE, 0, good), (ONE, 1, bad), (ONE, 2, good))
    told = outcomes(lab, REPLAY.format("1, 3"))
    assert told[0] == told[2] == "replayed"
    assert told[1] == "kept: its body is not well-formed XML, which its message type asks for"
    lab.advance(5)
    assert lab.bodies() == ["<a/>".encode("utf-16-le")] * 2
    assert lab.rows("SELECT COUNT(*) FROM audit.DeadLetter WHERE HandledUtc IS NULL;") == [(1,)]


def test_a_gate_that_is_closed_on_the_way_is_said_for_what_is_left(lab):
    put(lab, (ONE, 0, "0x01"), (OTHER, 0, "0x02"))
    lab.sa.execute(
        "CREATE TRIGGER audit.shut ON audit.OperatorLog AFTER INSERT AS "
        "UPDATE audit.Gate SET IsOpen = 0;"
    )
    told = outcomes(lab, REPLAY.format("1, 2"))
    assert told[0] == "replayed"
    assert told[1].startswith("kept: failed with 50172: The gate is closed")


def test_a_refusal_leaves_the_callers_transaction_as_it_was(lab):
    """XACT_ABORT ON comes after the check, so THROW does not roll the caller back."""
    lab.sa.execute("BEGIN TRANSACTION;")
    for call in (
        "usp_ReplayDeadLetter 1",
        "usp_OpenGate @reason = N'x'",
        "usp_Drain",
        "usp_EndLeaked",
        "usp_RetireIdle",
        "usp_PurgeDeadLetter 1",
        "usp_PurgeLogs 1",
        "usp_PurgeLanding 1",
        "usp_PurgePoison 1",
        "usp_PurgeSendLedger 1",
    ):
        lab.sa.fail(f"EXECUTE audit.{call};")
        assert lab.sa.value("@@TRANCOUNT") == 1 and lab.sa.value("XACT_STATE()") == 1, call
    lab.sa.execute("ROLLBACK;")


def test_a_closed_gate_refuses_it_and_a_drain_waits_for_one_under_way(lab):
    put(lab, (ONE, 0, "0x01"))
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 0;")
    assert lab.sa.fail(REPLAY.format("1")) == 50172
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 1;")
    replaying, operator = Client(lab), Client(lab)
    replaying.execute("BEGIN TRANSACTION; SELECT 1 FROM audit.Gate WITH (HOLDLOCK);")  # as it does
    operator.submit("EXECUTE audit.usp_Drain @reason = N'x', @WhatIf = 0;")
    lab.advance(5)
    assert not operator.out.finished
    replaying.execute("COMMIT;")
    lab.advance(5)
    assert operator.out.finished


def test_wrong_inputs_are_named_together_and_a_transaction_is_refused(lab):
    assert lab.sa.fail("EXECUTE audit.usp_ReplayDeadLetter 5, 4, @WhatIf = 0;") == 50170
    assert "@toDeadLetterId" in lab.sa.errors[0].text and "@reason" in lab.sa.errors[0].text
    assert lab.sa.fail("EXECUTE audit.usp_ReplayDeadLetter;") == 50170
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_ReplayDeadLetter 1;") == 50171
    lab.sa.execute("IF @@TRANCOUNT > 0 ROLLBACK;")
