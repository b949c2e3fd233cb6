"""vw_DeadLetterCauses: 40,000 refusals are one row, and its columns are a filter of the procedures."""

from __future__ import annotations

import pytest

from .lab import Lab, configured
from .letters import EVENT, ONE, OTHER, envelope, held, letter, put, text, unhandled

CAUSES = "SELECT {} FROM audit.vw_DeadLetterCauses ORDER BY FirstId;"
KEYED = {"key": "application", "order": "key", "recycle": "timer"}
CONVERSION = "Conversion failed when converting the varchar value '{}' to data type int."


@pytest.fixture
def lab():
    return Lab()


def causes(lab: Lab, columns: str) -> list[tuple]:
    return lab.rows(CAUSES.format(columns))


def test_without_a_dead_letter_it_is_empty(lab):
    assert causes(lab, "*") == []


def test_reasons_that_differ_from_a_number_or_a_quoted_value_on_are_one_cause(lab):
    put(lab, *(letter(245, CONVERSION.format(value)) for value in ("a", "b", "it''s", "")))
    put(lab, letter(50000, "Order 7 is unknown"), letter(50000, "Order 12345 is unknown"))
    put(lab, letter(50000, "Currency is missing"))
    assert causes(lab, "Code, Letters, ExampleReason") == [
        (245, 4, CONVERSION.format("a")),
        (50000, 2, "Order 7 is unknown"),
        (50000, 1, "Currency is missing"),
    ]


def test_side_code_and_message_type_make_another_cause_and_nothing_known_is_one_too(lab):
    put(lab, letter(547), letter(548), letter(547, kind="other"), letter(547, side="initiator"))
    put(lab, letter(None, None, kind=None), letter(None, None, kind=None))
    assert causes(lab, "Side, Code, MessageType, ReasonLike, Letters") == [
        ("target", 547, EVENT, "refused", 1),
        ("target", 548, EVENT, "refused", 1),
        ("target", 547, "other", "refused", 1),
        ("initiator", 547, EVENT, "refused", 1),
        ("target", None, None, "", 2),
    ]


def test_it_counts_what_is_handled_and_what_is_not_and_its_example_is_not(lab):
    days = [f"2026-01-0{day}T00:00:00" for day in (1, 2, 3)]
    put(lab, *(letter(reason=f"number {n}", added=days[n]) for n in range(3)))
    put(lab, letter(reason="number 9", conversation=OTHER, added=days[0]))
    lab.rows("UPDATE audit.DeadLetter SET HandledUtc = AddedUtc WHERE DeadLetterId IN (1, 3);")
    ((letters, left, first, last, *rest),) = causes(
        lab,
        "Letters, Unhandled, FirstUtc, LastUtc, FirstId, LastId, Conversations, Keys, ExampleId, "
        "ExampleReason, OlderLeftOut",
    )
    assert (letters, left, first.day, last.day) == (4, 2, 1, 3)
    assert rest == [1, 4, 2, None, 2, "number 1", False]
    lab.rows("UPDATE audit.DeadLetter SET HandledUtc = AddedUtc;")
    assert causes(lab, "Unhandled, ExampleId") == [(0, 4)]


def test_it_counts_the_keys_where_messages_carry_them():
    lab = Lab(configured(conversation=KEYED))
    keys = (("a", 1), ("b", 1), ("a", 2))
    put(lab, *(letter(body=envelope(key, number, b"\x01")) for key, number in keys))
    assert causes(lab, "Keys") == [(2,)]
    put(lab, letter(body=b"\x01"))  # no envelope, as a stranger sends
    lab.sa.out.messages.clear()
    assert causes(lab, "Keys") == [(2,)]
    assert lab.sa.out.messages == [], "no warning of a NULL"


HOSTILE = (
    "all % of [it] is under_scored",
    "all % of [it] is under scored",
    "all of i is under_scored",
    "[a-z]%_",
    "abc",
    "say 'it''s' so",
    'a "quoted" name',
    "no number, no quote",
    "x" * 100 + " and then some",
    "x" * 100 + "7",
    "x" * 100,
    "",
    None,
)


def test_its_pattern_takes_the_letters_of_its_cause_and_no_other(lab):
    """LIKE's wildcards in a reason are letters; what is cut is cut."""
    put(lab, *(letter(547, reason) for reason in HOSTILE))
    rows = causes(lab, "ReasonLike, Letters")
    assert sum(letters for _, letters in rows) == len(HOSTILE)
    taken = []
    for pattern, letters in rows:
        lab.rows(f"EXECUTE audit.usp_ReplayDeadLetter @reasonLike = {text(pattern)};")
        shown = [row[0] for row in lab.sa.out.result_sets[0].rows]
        assert len(shown) == letters, pattern
        taken += shown
    assert sorted(taken) == list(range(1, len(HOSTILE) + 1))


def test_it_waits_for_nobody(lab):
    put(lab, letter(), letter())
    other = held(lab, 1)
    assert causes(lab, "Letters") == [(2,)]
    other.execute("ROLLBACK;")


def test_it_says_so_where_it_has_not_read_all():
    """The newest are read. Three stand for a hundred thousand."""
    lab = Lab()
    put(lab, letter(1), letter(2), letter(3), letter(4))
    ((definition,),) = lab.rows(
        "SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.vw_DeadLetterCauses'));"
    )
    assert "TOP (100000)" in definition
    lab.rows(
        definition.replace("TOP (100000)", "TOP (3)").replace("CREATE ", "CREATE OR ALTER ", 1)
    )
    assert causes(lab, "Code, OlderLeftOut") == [(2, True), (3, True), (4, True)]


def test_an_operator_may_ask_and_sees_no_body(lab):
    put(lab, letter(conversation=ONE))
    lab.rows("CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;")
    rows = lab.rows(f"EXECUTE AS USER = N'ops'; {CAUSES.format('*')} REVERT;")
    assert len(rows) == 1 and b"\x01" not in rows[0]
    lab.rows("CREATE USER nobody WITHOUT LOGIN;")
    assert lab.sa.fail(f"EXECUTE AS USER = N'nobody'; {CAUSES.format('*')}") == 229
    lab.rows("REVERT;")
    assert unhandled(lab) == [1]
