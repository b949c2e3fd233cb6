"""The audit's Spark jobs against a plain Python oracle: many small dialogs in one job."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from redial.spark.judging import Rules, conversations, keys, named
from tests.spark.pipeline.logs import DEAD, LANDED, LOG, Dialog, dialogs, moment, oracle


def judged(spark, cases: list[Dialog], **rules):
    """What the audit says of each dialog, by its place."""
    named_cases = [(f"C{place}", case) for place, case in enumerate(cases)]
    landed = spark.createDataFrame(
        [row for name, case in named_cases for row in case.landed_rows(name)], LANDED
    )
    log = spark.createDataFrame(
        [case.log_row(name) for name, case in named_cases if case.logged], LOG
    )
    dead = spark.createDataFrame(
        [(name, n, "event") for name, case in named_cases for n in case.dead], DEAD
    )
    rows = conversations(named(landed), log, dead, Rules(**rules))
    found = {row.conversation: row for row in rows.collect()}
    rows.unpersist()
    return found


def numbers(ranges) -> set[int]:
    return {n for first, last in ranges or () for n in range(first, last + 1)}


def agree(found, cases, horizon=None):
    for place, case in enumerate(cases):
        wanted, row = oracle(case, horizon), found.get(f"C{place}")
        if row is None:  # neither log nor a row: nobody knows of it
            assert not case.logged and not case.arrivals and case.end_landed is None
            continue
        got = (row.state, row.lost, row.repeats, row.late, row.dead, row.pending, row.missing)
        assert got == (
            wanted.state,
            wanted.lost,
            wanted.repeats,
            wanted.late,
            wanted.dead,
            wanted.pending,
            len(wanted.missing),
        ), case
        assert numbers(row.ranges) == wanted.missing, case


@pytest.fixture(scope="module")
def cases() -> list[Dialog]:
    """Hypothesis' dialogs, gathered: a Spark job for each of them would take the day."""
    found: list[Dialog] = []

    @settings(max_examples=400, database=None)
    @given(dialogs())
    def gather(dialog):
        found.append(dialog)

    gather()
    return found


def test_the_dialogs_tried_have_every_fault(cases):
    said = [oracle(case) for case in cases]
    for name in ("lost", "repeats", "late", "dead", "pending"):
        assert sum(getattr(one, name) > 0 for one in said) > 5, name
    assert sum(len(one.missing) > one.lost for one in said) > 5
    assert {one.state for one in said} == {"open", "closing", "complete"}


def unseen() -> Dialog:
    """1, 5 and 6 lost, 2, 3 and 7 twice: equal count, least, greatest, sum and sum of squares."""
    return Dialog([(n, 0) for n in (0, 10, 2, 3, 4, 7, 8, 9, 2, 3, 7)], 11, ended=9)


def test_every_dialog_is_judged_as_the_oracle_judges_it(spark, cases):
    found = judged(spark, [*cases, unseen()])
    agree(found, cases)
    assert found[f"C{len(cases)}"].lost == 0, "sums are no proof"


def test_verifying_all_says_the_same_and_what_comes_after_the_horizon_is_not_lost(spark, cases):
    found = judged(spark, [*cases, unseen()], exact=True, horizon=moment(50))
    agree(found, cases, horizon=50)
    assert found[f"C{len(cases)}"].lost == 3


@pytest.fixture(scope="module")
def by_key(spark):
    """Keys A to E over dialogs of their own: see the tests."""

    def row(dialog, number, key, key_seq, second):
        return (dialog, number, "event", moment(second), None, key, key_seq, None)

    def dialog(name, key, key_seqs, second=0):
        return [row(name, n, key, k, second + n) for n, k in enumerate(key_seqs)]

    landed = spark.createDataFrame(
        [
            *dialog("A1", "A", (1, 2, 3)),
            *dialog("A2", "A", (5,), 3),
            *dialog("A3", "A", (4,), 9),
            *dialog("B1", "B", (1, 4)),
            *dialog("C1", "C", (1, 2)),
            *dialog("C3", "C", (5, 6)),
            *dialog("D1", "D", (1, 2)),
            *dialog("D2", "D", (2, 3)),
            *dialog("E1", "E", (1, 3)),
        ],
        LANDED,
    )

    def logged(name, key, messages):
        return (f"h-{name}", name, key, None, moment(0), None, None, messages, None)

    log = spark.createDataFrame(
        [
            *(logged(name, name[0], None) for name in ("A2", "B1", "C3", "D2", "E1")),
            logged("A1", "A", 3),
            logged("C1", "C", 4),
        ],
        LOG,
    )
    dead = spark.createDataFrame(
        [("E9", 7, "event", "E", 2)], DEAD + ", ConversationKey string, KeySequence long"
    )
    rows = named(landed)
    judged_ = conversations(rows, log, dead, Rules())
    return {row.key: row for row in keys(rows, dead, judged_, Rules()).collect()}


def test_a_key_is_whole_across_its_dialogs_and_overtaking_is_no_fault(by_key):
    a = by_key["A"]
    assert (a.high, a.lost, a.repeats, a.overtaken) == (5, 0, 0, 1)


def test_a_number_missing_in_a_key_is_lost(by_key):
    b = by_key["B"]
    assert (b.lost, b.unsettled, numbers(b.ranges)) == (2, 0, {2, 3})


def test_a_number_missing_while_an_older_dialog_of_the_key_closes_may_still_come(by_key):
    c = by_key["C"]
    assert (c.lost, c.unsettled) == (0, 2)


def test_a_number_resent_twice_is_a_repeat_and_a_dead_letter_is_not_lost(by_key):
    assert (by_key["D"].repeats, by_key["D"].lost) == (1, 0)
    assert (by_key["E"].missing, by_key["E"].lost) == (0, 0)
