"""usp_ReplayDeadLetter: byte-exact, in order, once, with who and why.

Feature poison handling: the table of poison messages with list, replay and purge (jdaigle's
ServiceBusWatcher, thread goal "a DBA can list, replay and purge poison messages").
"""

import pytest

from . import letters as made
from .bare import another
from .lab import AUDIT, ERROR, Client, Lab, configured, send

EVENT = "//redial/audit/event"
REPLAY = "EXECUTE audit.usp_ReplayDeadLetter {}, @reason = N'mended', @WhatIf = 0;"
ONE, OTHER = made.ONE, made.OTHER


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


# By what letters have in common.


def by(lab: Lab, which: str, what_if: int = 0) -> tuple[list[tuple[int, str]], tuple]:
    """(letter, outcome) of each, and the summary: Matching, Chosen, Replayed, Remaining, InUse."""
    (summary,) = lab.rows(
        f"EXECUTE audit.usp_ReplayDeadLetter {which}, @reason = N'mended', @WhatIf = {what_if};"
    )
    letters, _ = lab.sa.out.result_sets
    return [(row[0], row[-1]) for row in letters.rows], summary


FILTERS = {
    "@code = 547": [1, 2, 3, 4, 5, 6],
    "@code = 0": [7],
    "@messageType = N'//redial/audit/event'": [1, 2, 3, 4, 5, 6, 7],
    "@messageType = N''": [],
    "@messageType = N'other'": [],
    "@reasonLike = N'50[%] of it''s \\%'": [],
    "@reasonLike = N'50[%] of it''s%'": [2],
    "@reasonLike = N'%a[_]b'": [3],
    "@reasonLike = N''": [7],
    "@reasonLike = N'%'": [1, 2, 3, 4, 5, 6, 7],
    f"@conversation = '{OTHER}'": [4],
    "@fromUtc = '2026-01-05'": [5],
    "@toUtc = '2026-01-01T00:00:00'": [6],
    "@fromUtc = '2026-01-01T00:00:00', @toUtc = '2026-01-01T00:00:00.001'": [1, 2, 3, 4, 7],
    f"@code = 547, @conversation = '{OTHER}', @reasonLike = N'refused'": [4],
    f"@code = 548, @conversation = '{OTHER}'": [],
    "@code = 547, @deadLetterId = 2": [2],
    "@code = 547, @deadLetterId = 2, @toDeadLetterId = 9000": [2, 3, 4, 5, 6],
    "@code = 547, @toDeadLetterId = 2": [1, 2],
    "@reasonLike = N'x''; DROP TABLE audit.DeadLetter; --'": [],
}


@pytest.fixture
def several(lab) -> Lab:
    """Seven letters that differ in one thing each; the eighth is of a type no caller sends."""
    made.put(
        lab,
        made.letter(),
        made.letter(reason="50% of it's gone"),
        made.letter(reason="a_b"),
        made.letter(conversation=OTHER),
        made.letter(added="2026-01-05T00:00:00"),
        made.letter(added="2025-12-31T23:59:59.999"),
        made.letter(None, None),
        made.letter(1, "z", kind="EndOfStream", added="2024-01-01"),
    )
    return lab


@pytest.mark.parametrize("which", FILTERS)
def test_all_that_is_given_narrows_what_is_replayed(several, which):
    """LIKE's wildcards, quotes, no code, no reason, the edges of a time."""
    shown, (_, chosen, replayed, _, _) = by(several, which, what_if=1)
    assert shown == [(number, "would be replayed") for number in FILTERS[which]]
    assert (chosen, replayed) == (len(shown), 0)
    several.settle()
    assert several.bodies() == []
    assert made.unhandled(several) == list(range(1, 9))


def test_a_dialog_is_found_by_its_id_too(lab):
    made.put(lab, made.letter())
    lab.rows(f"UPDATE audit.DeadLetter SET ConversationId = '{OTHER}';")
    for either in (ONE, OTHER):
        assert by(lab, f"@conversation = '{either}'", 1)[0] == [(1, "would be replayed")]


def test_what_matches_is_replayed_and_what_does_not_stays(several):
    shown, summary = by(several, "@code = 547")
    assert shown == [(number, "replayed") for number in range(1, 7)]
    assert summary == (6, 6, 6, 0, 0)
    assert made.unhandled(several) == [7, 8]
    assert by(several, "@code = 547") == ([], (0, 0, 0, 0, 0)), "none twice"


def test_what_no_caller_sends_remains(several):
    assert by(several, "@code = 1") == ([], (1, 0, 0, 1, 0))


def test_with_nothing_in_the_table_nothing_is_done(lab):
    assert by(lab, "@code = 547") == ([], (0, 0, 0, 0, 0))


def test_of_more_than_a_thousand_the_first_go_and_a_call_more_takes_the_rest(lab):
    """The one with the highest sequence remains, whichever number it has."""
    made.put(lab, *(made.letter(sequence=1001 - n, body=b"%d" % (1001 - n)) for n in range(1001)))
    shown, summary = by(lab, "@code = 547")
    assert len(shown) == 1000 and {outcome for _, outcome in shown} == {"replayed"}
    assert summary == (1001, 1000, 1000, 1, 0)
    assert made.unhandled(lab) == [1]
    assert by(lab, "@code = 547")[1] == (1, 1, 1, 0, 0)
    lab.advance(10)
    assert [int(body) for body in lab.bodies() if body] == list(range(1, 1002))


def test_a_letter_somebody_is_at_work_on_is_passed_over_and_counted(lab):
    made.put(lab, made.letter(), made.letter(sequence=1))
    other = made.held(lab, 1)
    assert by(lab, "@code = 547", 1) == ([(2, "would be replayed")], (1, 1, 0, 1, 1))
    assert by(lab, "@code = 547") == ([(2, "replayed")], (1, 1, 1, 0, 1))
    other.execute("COMMIT;")
    assert by(lab, "@code = 547") == ([(1, "replayed")], (1, 1, 1, 0, 0))


def test_a_letter_somebody_reads_is_not_waited_for_and_goes_next_time(lab):
    """U beside the reader's S was got, and then waited for X."""
    made.put(lab, made.letter())
    reader = Client(lab)
    reader.execute("BEGIN TRANSACTION; SELECT 1 FROM audit.DeadLetter WITH (REPEATABLEREAD);")
    assert by(lab, "@code = 547")[0] == [(1, "kept: it is in use now; call again")]
    reader.execute("COMMIT;")
    assert by(lab, "@code = 547")[0] == [(1, "replayed")]


def test_a_letter_another_operator_is_replaying_is_counted_as_in_use(lab):
    made.put(lab, made.letter(), made.letter(sequence=1))
    other = Client(lab)
    other.execute(
        "BEGIN TRANSACTION; UPDATE audit.DeadLetter SET HandledUtc = SYSUTCDATETIME(), "
        "HandledBy = N'x', Handling = N'replayed' WHERE DeadLetterId = 1;"
    )
    assert by(lab, "@code = 547") == ([(2, "replayed")], (1, 1, 1, 0, 1))
    other.execute("COMMIT;")
    lab.settle()
    assert by(lab, "@code = 547")[1] == (0, 0, 0, 0, 0)


def test_a_bad_letter_of_the_filter_remains_and_is_named(lab):
    made.put(lab, made.letter(), made.letter(body=b"\xba\xd0", sequence=1))
    lab.rows("ALTER TABLE audit.SentMessage ADD CONSTRAINT bad CHECK (Body <> 0xBAD0);")
    shown, summary = by(lab, "@code = 547")
    assert shown[0] == (1, "replayed") and shown[1][1].startswith("kept: failed with 547: ")
    assert summary == (2, 2, 1, 1, 0)


def numbered(number: int, key: str = "k", conversation: str = ONE) -> str:
    body = made.envelope(key, number, b"%d" % number)
    return made.letter(body=body, conversation=conversation)


@pytest.fixture
def keyed() -> Lab:
    chosen = {"key": "application", "order": "key", "recycle": "timer"}
    return Lab(configured(conversation=chosen))


LANDED = (
    "SELECT ConversationKey, KeySequence FROM audit.Landing WHERE KeySequence > 0 ORDER BY "
    "ConversationKey, RowVersion;"
)


@pytest.mark.parametrize("call", ["@code = 547", "1, 6"])
def test_the_letters_of_a_key_go_in_the_order_of_its_numbers_over_several_dialogs(keyed, call):
    lab = keyed
    made.put(
        lab,
        *(numbered(3), numbered(5), numbered(2, conversation=OTHER), numbered(1, "m")),
        *(numbered(4, conversation=OTHER), numbered(1)),
    )
    lab.rows(REPLAY.format(call))
    lab.advance(5)
    expected = [("k", number) for number in range(1, 6)] + [("m", 1)]
    assert lab.rows(LANDED) == expected
    dialogs = (
        "SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing WHERE ConversationKey = N'k';"
    )
    assert lab.rows(dialogs) == [(1,)]


def test_a_call_takes_the_first_numbers_of_a_key_whatever_numbers_its_letters_have(keyed):
    """The last letter written has number 1: a later call must not take what belongs before."""
    lab = keyed
    made.put(lab, *(numbered(1001 - n, conversation=(ONE, OTHER)[n % 2]) for n in range(1001)))
    assert by(lab, "@code = 547")[1] == (1001, 1000, 1000, 1, 0)
    assert made.unhandled(lab) == [1], "number 1001"


def test_one_key_is_replayed_and_the_others_stay(keyed):
    made.put(keyed, numbered(1), numbered(1, "it's"), numbered(2))
    assert by(keyed, "@key = N'it''s'") == ([(2, "replayed")], (1, 1, 1, 0, 0))
    assert by(keyed, "@key = N'k', @code = 1")[1] == (0, 0, 0, 0, 0)
    assert made.unhandled(keyed) == [1, 3]


def test_a_letter_without_a_number_goes_with_its_conversation(keyed):
    """From before the configuration numbered its messages."""
    lab = keyed
    made.put(
        lab,
        *(made.letter(body=bytes([n]), sequence=n, conversation=OTHER) for n in (4, 2)),
        numbered(1),
        made.letter(body=b"\x03", sequence=3),
    )
    assert by(lab, "@code = 547")[1] == (4, 4, 4, 0, 0)
    lab.advance(5)
    assert [body for body in lab.bodies() if body != b"1"] == [b"\x02", b"\x04", b"\x03"]
    assert lab.rows("SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing;") == [(3,)]


def test_a_key_is_refused_where_no_message_carries_one_and_times_must_be_in_order(lab):
    wrong = "@key = N'k', @fromUtc = '2026-01-02', @toUtc = '2026-01-02'"
    assert lab.sa.fail(f"EXECUTE audit.usp_ReplayDeadLetter {wrong};") == 50170
    assert "@key" in lab.sa.errors[0].text and "@fromUtc" in lab.sa.errors[0].text
    assert lab.sa.fail("EXECUTE audit.usp_ReplayDeadLetter @toDeadLetterId = 4;") == 50170
    assert "@code" in lab.sa.errors[0].text
    assert lab.sa.fail("EXECUTE audit.usp_ReplayDeadLetter 5, 4, @code = 1;") == 50170
