"""The verdict sees each kind of finding in journals and evidence that were forged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from redial.config import Config
from redial_lab.torture.caller_journal import FAILED, OK, UNKNOWN, Entry, Journal, body_of, name_of
from redial_lab.torture.draw import settings
from redial_lab.torture.journal_verdict import MEANING, documented, judge
from redial_lab.torture.what_landed import Evidence, Landed

ONCE = Config.model_validate(settings()["hurried-etl"])
ORDERS = Config.model_validate(settings()["hurried-orders"])
AUDIT = Config.model_validate(settings()["hurried-audit"])
A, B = (0, 0, 0), (0, 1, 0)


def entry(name, outcome=OK, asked=0.0, answered=None, **more):
    """A message that was sent by itself."""
    return Entry(
        name,
        "k",
        asked,
        "send",
        "transaction",
        outcome,
        asked + 1 if answered is None else answered,
        **more,
    )


def landed(name, sequence=0, conversation="d", number=None):
    """A row of Landing."""
    return Landed(name, conversation, sequence, sequence, ("k", number) if number else None)


def found(config, entries, there, **journal):
    """What kinds of findings there are."""
    told = Journal(0, "51", list(entries), **{"finished": True, "open_at_end": 0, **journal})
    return judge(config, [told], there).kinds


def test_nothing_is_found_where_nothing_is_wrong():
    entries = [entry(A), entry(B, asked=2.0), entry((0, 2, 0), FAILED), entry((0, 3, 0), UNKNOWN)]
    assert found(AUDIT, entries, Evidence([landed(A), landed(B, 1)])) == set()


@pytest.mark.parametrize("there", [Evidence([landed(A)]), Evidence(dead=[(A, None)])])
def test_an_unknown_message_may_be_there_or_not(there):
    assert found(AUDIT, [entry(A, UNKNOWN)], there) == set()
    assert found(AUDIT, [entry(A, UNKNOWN)], Evidence()) == set()


def test_an_acknowledged_message_that_is_nowhere_is_lost():
    assert found(AUDIT, [entry(A)], Evidence()) == {"lost"}


def test_an_acknowledged_message_that_was_set_aside_is_not_lost():
    assert found(AUDIT, [entry(A)], Evidence(dead=[(A, None)])) == set()


def test_a_message_nobody_has_sent_is_found():
    assert found(AUDIT, [], Evidence([landed(A)])) == {"lost"}


@pytest.mark.parametrize("there", [Evidence([landed(A)]), Evidence(dead=[(A, None)])])
def test_what_was_told_to_have_failed_must_be_nowhere(there):
    assert found(AUDIT, [entry(A, FAILED)], there) == {"landed though failed"}


def test_a_message_on_its_way_at_rest_is_stuck():
    assert found(AUDIT, [entry(A)], Evidence(waiting={"SentMessage": [(A, None)]})) == {"stuck"}


def test_a_repeat_is_found_only_where_each_is_promised_once():
    there = Evidence([landed(A), landed(A, 0, "e")])
    assert found(ONCE, [entry(A, message_id="x")], there) == {"doubled"}
    assert found(AUDIT, [entry(A)], there) == set()


def test_order_within_a_dialog():
    entries = [entry(A, asked=0.0), entry(B, asked=5.0)]
    assert found(AUDIT, entries, Evidence([landed(B, 0), landed(A, 1)])) == {
        "misordered in a dialog"
    }
    assert found(AUDIT, entries, Evidence([landed(B, 0), landed(A, 0, "e")])) == set()


def test_order_within_a_unit_of_work():
    entries = [entry((0, 0, 0)), entry((0, 0, 1))]
    there = Evidence([landed((0, 0, 1), 0), landed((0, 0, 0), 1)])
    assert found(AUDIT, entries, there) == {"misordered in a dialog"}


def test_transactions_side_by_side_have_no_order():
    entries = [entry(A, asked=0.0, answered=9.0), entry(B, asked=5.0, answered=6.0)]
    assert found(AUDIT, entries, Evidence([landed(B, 0), landed(A, 1)])) == set()


def test_a_number_of_a_dialog_lands_once():
    entries = [entry(A), entry(B)]
    assert found(AUDIT, entries, Evidence([landed(A, 3), landed(B, 3)])) == {
        "misordered in a dialog"
    }


def test_a_transaction_keeps_its_slot_of_the_pool():
    entries = [entry((0, 0, 0)), entry((0, 0, 1))]
    there = Evidence([landed((0, 0, 0)), landed((0, 0, 1), 0, "e")])
    assert found(ONCE, entries, there) == {"split"}
    assert found(AUDIT, entries, there) == set()
    assert found(ONCE, entries, replace(there, private={"e"})) == set()


def test_a_missing_number_of_a_key_is_a_gap_unless_it_is_shown():
    entries = [entry(A), entry(B, asked=2.0)]
    there = Evidence([landed(A, 0, number=1), landed(B, 1, number=3)])
    assert found(ORDERS, entries, there) == {"gap"}
    assert found(ORDERS, entries, replace(there, skipped={("k", 2)})) == set()
    assert found(ORDERS, entries, replace(there, dead=[(None, ("k", 2))])) == set()


def test_a_number_of_a_key_is_given_once_and_in_order():
    entries = [entry(A, asked=0.0), entry(B, asked=5.0)]
    twice = Evidence([landed(A, 0, number=1), landed(B, 1, number=1)])
    assert found(ORDERS, entries, twice) == {"number given twice"}
    turned = Evidence([landed(A, 0, "d", 2), landed(B, 0, "e", 1)])
    assert found(ORDERS, entries, turned) == {"misordered by key"}


def test_poison_must_not_land():
    assert found(AUDIT, [entry(A, poison=True)], Evidence([landed(A)])) == {"poison landed"}


def test_what_is_left_of_dialogs_and_connections():
    assert found(AUDIT, [], Evidence(leaked=["target CO"])) == {"leaked"}
    assert found(AUDIT, [], Evidence(held=["session 51"])) == {"connection left"}
    assert found(AUDIT, [], Evidence(), open_at_end=1) == {"connection left"}
    assert found(AUDIT, [], Evidence(), finished=False) == {"waits for ever"}
    assert found(AUDIT, [], Evidence(), notes=["odd"]) == {"odd transaction"}


def test_a_number_docs_errors_does_not_name_is_found():
    assert {1205, 1222, 50101, 3960} <= documented()
    assert found(AUDIT, [], Evidence(), errors=Counter({1205: 3})) == set()
    assert found(AUDIT, [], Evidence(), errors=Counter({1204: 1})) == {"unknown error"}


def test_every_kind_has_a_meaning():
    kinds = {"lost", "landed though failed", "doubled", "gap", "stuck", "leaked", "split"}
    assert kinds <= set(MEANING)


@pytest.mark.parametrize("name", [(0, 0, 0), (7, 12, 3)])
@pytest.mark.parametrize("poison", [False, True])
def test_a_body_says_whose_it_is(name, poison):
    assert name_of(body_of(name, 40, poison)) == name


@pytest.mark.parametrize("body", [None, b"", b"EndOfStream", b"1.2;", b"\xff\x00"])
def test_other_bodies_are_nobodys(body):
    assert name_of(body) is None


def test_a_journal_survives_being_sent():
    journal = Journal(3, "52", [entry(A)], Counter({1205: 2}), ["note"], 0, True)
    assert Journal.from_data(journal.to_data()) == journal
