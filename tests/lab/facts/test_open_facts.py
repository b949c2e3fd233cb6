"""Which facts the shipped text rests on: nothing open is forgotten, and what is said of it follows from
the searches that are kept."""

from __future__ import annotations

import pytest

from redial_broker.engine.switches import SWITCHES, shown
from redial_lab.pages.facts import page
from redial_lab.pages.facts.page import BEGIN, BOTH, ELSEWHERE, END, LEFT, NOT, entry
from redial_lab.pages.facts.reasons import ABSENT, ASKED, WHY
from redial_lab.pages.facts.rests import Promise, Tally, tally
from redial_lab.pages.facts.sheet import SHEET, Fact, facts, opened
from redial_lab.proof.matrix import Cell
from redial_lab.proof.matrix_kept import Told

TEXT = SHEET.read_text("utf-8")
OPEN = {fact.number: fact for fact in opened(TEXT)}
DOOMS = Fact("F-131", " Whether it dooms is *unknown*.")
NO_SWITCH = Fact("F-101", " Something of `usp_Send`, *inferred*.")
ASKING = ["broker_error_dooms"]
EVERY = [
    f"broker_error_dooms={shown(value)}" for value in SWITCHES["broker_error_dooms"].values[1:]
]


def promise(
    *, story: str = "dies", old: bool = False, names: tuple[str, ...] = (), **told
) -> Promise:
    """One whose search asked for the switch of DOOMS."""
    found = Told(**{"asked": ASKING, "tried": EVERY} | told)
    return Promise(Cell(), story, frozenset(names), found, frozenset(found.asked), old)


def said(
    fact: Fact, *all_promises: Promise, tests: dict[str, str] | None = None
) -> tuple[str, str]:
    found = entry(fact, tally(fact, all_promises), (), tests or {})
    return found.section, found.said


def test_every_open_fact_has_a_switch_a_reason_or_a_question():
    told = WHY.keys() | ASKED.keys() | ABSENT.keys()
    assert {number for number, fact in OPEN.items() if not fact.switches} - told == set()


def test_nothing_is_said_of_a_fact_that_is_not_open_nor_two_things_of_one():
    every = [*WHY, *ASKED, *ABSENT]
    assert set(every) - OPEN.keys() == set() and len(every) == len(set(every))


def test_a_fact_is_open_by_its_words_or_by_a_switch():
    text = (
        "**F-103** Said on a page. *Documented* (here).\n\n**F-104** *Nobody waits* (inferred). It is so.\n\n"
        "**F-139** Two pages, in disagreement; *unknown* which.\n\n**F-133** Named: switch `relaunch`.\n"
    )
    assert {fact.number: fact.marks for fact in opened(text)} == {
        "F-104": ["inferred"],
        "F-139": ["unknown", "in disagreement"],
        "F-133": [],
    }
    assert [switch.name for switch in facts(text)["F-133"].switches] == ["relaunch"]


def test_a_promise_rests_on_a_switch_its_search_asked_for():
    asked, other = promise(names=("F-131",)), promise(asked=["relaunch"], names=("F-131",))
    assert tally(DOOMS, [asked, other]).promises == 1
    never = Promise(Cell(), "dies", frozenset({"F-131"}))
    assert tally(DOOMS, [never]) == Tally(1, {Cell()}, old=1)


def test_a_promise_rests_on_a_fact_without_a_switch_by_its_text():
    cites, runs, neither = (
        promise(names=names) for names in (("F-101",), ("usp_Send",), ("usp_X",))
    )
    assert tally(NO_SWITCH, [cites, runs, neither]).promises == 2


def test_both_answers_are_safe_where_each_was_searched_and_nothing_found():
    assert said(DOOMS, promise())[1].startswith("both answers searched: safe")
    assert "1 were not tried" in said(DOOMS, promise(tried=[]))[1]
    assert "safe" in said(DOOMS, promise(tried=[], together=EVERY))[1]
    section, text = said(DOOMS, promise(old=True, changed={EVERY[0]: ["S3 lost"]}))
    assert section == BOTH and "stale: 1 are to be searched again" in text


@pytest.mark.parametrize(
    "told",
    [{"changed": {f"relaunch=x+{EVERY[0]}": ["S3"]}}, {"found": ["L1 depends on F-131: stuck"]}],
    ids=["another value", "a claim that names it"],
)
def test_what_another_answer_breaks_is_left_with_its_probe(told):
    section, text = said(DOOMS, promise(**told), promise())
    assert section == LEFT
    assert "breaks 1 promises" in text and "probe `send_on_a_dead_dialog`" in text


def test_a_switch_no_cell_asks_for_names_the_tests_that_try_it():
    tests = {"test_one": "switches={'receive_unknown': value}", "test_two": "other_receive_unknown"}
    fact = Fact("F-266", " *Unknown*.")
    assert said(fact, tests=tests) == (
        ELSEWHERE,
        "both answers tried: test_one, the torture test; probe `receive_unknown`",
    )


def test_a_fact_without_a_switch_is_left_unless_a_reason_is_given(monkeypatch):
    assert said(NO_SWITCH) == (LEFT, "rests on it: question to a server: nobody has worded it yet")
    monkeypatch.setitem(WHY, "F-101", "both are right")
    assert said(NO_SWITCH) == (NOT, "both are right")


def test_a_word_that_is_absent_is_a_reason_only_while_it_is_absent(monkeypatch):
    number = next(iter(ABSENT))
    assert all(said(OPEN[each])[0] == NOT for each in ABSENT)
    monkeypatch.setattr(page, "shipped", lambda: f"... {ABSENT[number]} ...")
    assert said(Fact(number, " *inferred*"))[0] == LEFT


def test_what_is_left_stands_at_the_head_of_the_sheet(monkeypatch):
    left, kept = (
        entry(fact, Tally(), (), {}) for fact in (NO_SWITCH, Fact("F-102", " *inferred*"))
    )
    monkeypatch.setattr(page, "entries", lambda: [left, kept])
    text = page.sheet()
    assert (text.count(BEGIN), text.count(END)) == (1, 1)
    head, _, rest = text.partition(END)
    assert "- **F-101**: rests on it" in head and "F-102" not in head.partition(BEGIN)[2]
    assert rest == TEXT.partition(END)[2] and head.partition(BEGIN)[0] == TEXT.partition(BEGIN)[0]
