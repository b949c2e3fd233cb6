"""Two databases: dead letters of the target's are replayed where they are, without a SEND."""

from __future__ import annotations

import pytest

from .lab import configured
from .letters import COLUMNS, ONE, OTHER, envelope, letter
from .two import CONFIG, DEPOT, Two

REPLAY = "EXECUTE audit.usp_ReplayDeadLetter {}, @reason = N'mended', @WhatIf = 0;"
REFUSES = (
    "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body IS NULL OR Body NOT IN "
    "(0x66, 0x67));"
)
DOOMS = (
    "ALTER TABLE audit.Landing ADD CONSTRAINT CK_No CHECK (Body IS NULL OR "
    "CONVERT(int, CONVERT(varchar(10), Body)) > 0);"
)
MENDED = "ALTER TABLE audit.Landing DROP CONSTRAINT CK_No;"
LEFT = "SELECT COUNT(*) FROM audit.DeadLetter WHERE HandledUtc IS NULL;"


def refused(two: Two, cause: str = REFUSES, *bodies: str) -> Two:
    """Letters 1 and up in the target's database; the last body lands."""
    two.depot(cause)
    for body in bodies or ("0x66", "0x67", "0x03"):
        two.send(body)
    two.instance.advance(5)
    return two


def outcomes(two: Two, what: str = "1, 2") -> list[str]:
    return [row[-1] for row in two.depot(REPLAY.format(what))]


def test_they_land_with_their_conversation_sequence_and_bytes():
    two = refused(Two())
    assert two.depot(LEFT) == [(2,)] and two.bodies() == [b"\x03"]
    two.depot(MENDED)
    assert [row[-1] for row in two.depot("EXECUTE audit.usp_ReplayDeadLetter 1, 2;")] == [
        "would be replayed"
    ] * 2
    assert outcomes(two) == ["replayed"] * 2
    rows = two.depot(
        "SELECT MessageSequence, Body FROM audit.Landing WHERE MessageType = "
        "N'//redial/audit/event' ORDER BY ConversationId, MessageSequence;"
    )
    assert rows == [(0, b"\x66"), (1, b"\x67"), (2, b"\x03")]
    assert two.depot("SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing;") == [(1,)]
    assert two.depot("SELECT Action, Reason FROM audit.OperatorLog;") == [
        ("replay dead letters", "mended")
    ]
    assert all(outcome.startswith("kept: replayed at ") for outcome in outcomes(two))
    assert len(two.bodies()) == 3


def test_what_is_not_mended_comes_back_and_the_old_letter_says_it_was_tried():
    two = refused(Two())
    assert outcomes(two, "1") == ["back as dead letter 3"]
    assert two.depot(LEFT) == [(2,)] and two.bodies() == [b"\x03"]


def test_a_cause_that_dooms_leaves_the_letter_as_it_was_and_the_next_is_tried():
    two = refused(Two(), DOOMS, "0x61", "0x62", "0x31")
    assert two.depot(LEFT) == [(2,)]
    assert [row[:22] for row in outcomes(two)] == ["kept: failed with 245 "] * 2
    assert two.depot(LEFT) == [(2,)]
    two.depot(MENDED)
    assert outcomes(two) == ["replayed"] * 2
    assert two.depot("SELECT COUNT(*) FROM audit.PoisonAttempt;") == [(0,)]


def test_the_hook_gets_them_and_exactly_once_counts_no_first_time_as_a_repeat():
    config = CONFIG.model_copy(
        update={
            "target": configured(target={"database": DEPOT, "processing": "hook"}).target,
            "conversation": configured(conversation={"delivery": "exactly_once"}).conversation,
        }
    )
    two = refused(Two(config))
    assert two.depot(LEFT) == [(2,)]
    two.depot(MENDED)
    assert outcomes(two) == ["replayed"] * 2
    assert sorted(two.bodies()) == [b"\x03", b"\x66", b"\x67"]
    assert two.depot("SELECT COUNT(*), SUM(Repeats) FROM audit.Inbox;") == [(3, 0)]


def test_letters_of_the_senders_are_not_the_targets():
    two = Two()
    two.depot(
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence) "
        "VALUES (N'initiator', NEWID(), 0);"
    )
    assert outcomes(two, "1") == ["kept: it is the sender's"]


def test_they_are_chosen_by_a_filter_and_counted():
    two = refused(Two())
    two.depot(MENDED)
    two.depot(
        "INSERT INTO audit.DeadLetter (Side, ConversationHandle, MessageSequence, Code) "
        "VALUES (N'initiator', NEWID(), 0, 547);"
    )
    assert two.depot("EXECUTE audit.usp_ReplayDeadLetter @code = 547;") == [(3, 2, 0, 3, 0)]
    assert two.depot(REPLAY.format("@code = 548")) == [(0, 0, 0, 0, 0)]
    assert two.depot(REPLAY.format("@code = 547")) == [(3, 2, 2, 1, 0)], "the sender's stays"
    assert len(two.bodies()) == 3


def test_the_letters_of_a_key_are_processed_in_the_order_of_its_numbers():
    """Over two dialogs; the letter with the lowest number was written last."""
    chosen = {"key": "application", "order": "key", "recycle": "timer"}
    two = Two(
        CONFIG.model_copy(update={"conversation": configured(conversation=chosen).conversation})
    )
    rows = ", ".join(
        letter(body=envelope("k", number, b"x"), conversation=conversation)
        for number, conversation in ((3, ONE), (2, OTHER), (4, OTHER), (1, ONE))
    )
    two.depot(f"INSERT INTO audit.DeadLetter ({COLUMNS}) VALUES {rows};")
    assert two.depot(REPLAY.format("@key = N'k'")) == [(4, 4, 4, 0, 0)]
    landed = two.depot("SELECT KeySequence FROM audit.Landing ORDER BY RowVersion;")
    assert landed == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("EXECUTE audit.usp_ReplayDeadLetter;", 50170),
        ("EXECUTE audit.usp_ReplayDeadLetter 1, @WhatIf = 0;", 50170),
        ("EXECUTE audit.usp_ReplayDeadLetter 1, 2000;", 50170),
        ("BEGIN TRANSACTION; EXECUTE audit.usp_ReplayDeadLetter 1; ROLLBACK;", 50171),
    ],
)
def test_a_wrong_call_is_refused_by_its_number(call, number):
    assert Two().fail(call, DEPOT).number == number
