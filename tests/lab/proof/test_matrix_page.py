"""docs/generated/answer-matrix.md: it says what the results say; a cell of each class is searched anew."""

from __future__ import annotations

import re

import pytest

from redial.paths import EVIDENCE
from redial_broker.engine.switches import SWITCHES, shown
from redial_lab.proof import matrix_kept
from redial_lab.proof.matrix import Cell, class_of, every_cell
from redial_lab.proof.matrix_kept import keep, kept
from redial_lab.proof.matrix_page import PAGE, linked, problems
from redial_lab.proof.matrix_run import searched
from redial_lab.proof.questions import QUESTIONS, SEARCHES

RESULTS = kept()
AGAIN = [
    ("single never two_phase updlock rc autocommit", "first", ""),
    ("message never two_phase updlock rcsi trigger", "first", "bad_optimizer=true"),
    ("spid timer article updlock rc transaction", "timer", ""),
    ("spid timer article updlock rc autocommit", "timer", ""),
    ("spid timer low_priority updlock rc xact_abort", "timer", ""),
    ("spid timer lock_timeout updlock rc transaction", "timer", ""),
    ("spid never two_phase none rc autocommit", "dies", ""),
    ("application never two_phase holdlock rcsi transaction", "first", ""),
    ("spid timer two_phase updlock rc transaction", "dies", "broker_error_dooms=true"),
]
"""A cell of each class of verdict, and what is searched of it anew."""
CLEAN = {AGAIN[0][0], AGAIN[1][0], AGAIN[6][0]}
"""Of them, where nothing is found."""


def test_results_page_and_traces_belong_together(tmp_path):
    """After a change of the shipped text: `invoke matrix --write` (or `--limit 0 --write`, which
    searches nothing and names the cells as stale). One test: what is installed is rendered once."""
    path = tmp_path / "matrix.json"
    keep(RESULTS, path)
    assert kept(path) == RESULTS
    assert path.read_text("utf-8") == matrix_kept.KEPT.read_text("utf-8")

    assert [each for each in problems(RESULTS) if not each.startswith("stale: ")] == []
    links = set(re.findall(r"evidence/traces/([\w-]+)\.txt", PAGE.read_text("utf-8")))
    found = linked(RESULTS)
    assert links == found.keys()  # none, where the text of all of them has changed since

    folder = EVIDENCE / "traces"
    whole = {path.stem for path in folder.glob("*.html")}
    today = {found[stem].what for stem in whole if stem in found}
    wanted = {each.what for each in found.values()} - {""}
    # A stale result has its trace in the folder and no link.
    assert today == wanted if whole <= found.keys() else today <= wanted
    assert all("explorer" in (folder / f"{stem}.sql").read_text("utf-8") for stem in whole)


def test_every_answer_is_what_its_searches_found():
    for name, search in SEARCHES.items():
        assert search.holds(RESULTS[name].told[""].found), name
    assert {key.partition("-")[0] for key in QUESTIONS} == {"000", "001", "002", "004"}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("name", "story", "value"), AGAIN)
def test_a_cell_searched_anew_says_what_the_page_says(name, story, value):
    cell = Cell.parse(name)
    [(_, _, told)] = searched(cell.installed, [(cell, story)], value, frozenset())
    before = RESULTS[name].told[story]
    print(name, story, value, told)
    if not value:
        assert (told.found, told.waits) == (before.found, before.waits)
    elif value in before.tried:
        assert told.found == before.changed.get(value, [])
    assert bool(told.found) == (name not in CLEAN)


def test_values_hold_what_the_engine_calls_them():
    for judged_ in RESULTS.values():
        for told in judged_.told.values():
            for value in told.tried:
                name, _, text = value.partition("=")
                assert text in [shown(each) for each in SWITCHES[name].values[1:]]


def test_every_violation_of_a_cell_has_a_class():
    for cell in every_cell():
        for told in RESULTS[str(cell)].told.values() if str(cell) in RESULTS else ():
            for name in (*told.found, *(each for names in told.changed.values() for each in names)):
                assert name == "nothing" or "transitions" in name or class_of(name)
