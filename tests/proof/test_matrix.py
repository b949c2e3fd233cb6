"""The answer matrix: its cells, its verdicts, its page; a cell of each class is searched anew."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from harness.broker.engine.switches import SWITCHES, shown
from harness.config.choices import Key, LookupHint, Recycle, TimerStrategy
from harness.proof import matrix_kept
from harness.proof.matrix import STORIES, Cell, class_of, classes, every_cell, refused, stories
from harness.proof.matrix_kept import Judged, Told, keep, kept, left, same_text
from harness.proof.matrix_page import PAGE, linked, problems
from harness.proof.matrix_run import asked, run, searched
from harness.proof.matrix_verdict import verdict
from harness.proof.questions import QUESTIONS, SEARCHES

RESULTS = kept()
OURS = Cell("single", "never", "two_phase", "updlock", "rc", "autocommit")
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


# ---------------------------------------------------------------------- cells
def test_every_combination_is_a_cell_or_refused_by_a_rule():
    cells = {str(cell).rsplit(" ", 2)[0] for cell in every_cell()}
    every = {" ".join(map(str, each)) for each in product(Key, Recycle, TimerStrategy, LookupHint)}
    assert cells | refused().keys() == every
    assert not cells & refused().keys()
    assert all(rules for rules in refused().values())
    assert len(every_cell()) == 8 * len(cells)


def test_what_we_ship_comes_first_and_every_cell_has_stories():
    cells = every_cell()
    ours = [cell.ours for cell in cells]
    assert ours == sorted(ours, reverse=True)
    assert all({"first", "dies"} <= stories(cell).keys() for cell in cells)
    assert {name for cell in cells for name in stories(cell)} == set(STORIES)


def test_only_the_article_ignores_the_hint_and_is_searched_once():
    other = {str(cell): str(same) for cell, same in same_text(every_cell()).items() if cell != same}
    assert len(other) == 16
    assert all(" article " in name and " article updlock " in same
               for name, same in other.items())


def test_every_violation_of_a_cell_has_a_class():
    for cell in every_cell():
        for told in (RESULTS[str(cell)].told.values() if str(cell) in RESULTS else ()):
            for name in (*told.found, *(each for names in told.changed.values() for each in names)):
                assert name == "nothing" or "transitions" in name or class_of(name)
    with pytest.raises(KeyError, match="'nonsense' belongs to no class"):
        class_of("nonsense")
    assert classes(["L2 x switched off", "S7 silent", "deadlock of a and b: b dies",
                    "deadlock of a and b: a dies"]) == ["deadlocks (a or b dies)", "loses",
                                                        "stalls"]


# ---------------------------------------------------------------------- verdicts
def judged(cell: Cell, **told: Told) -> Judged:
    return Judged(matrix_kept.essence(cell), matrix_kept.bounds_digest(cell), "e", "c", told)


def complete(cell: Cell, **changes) -> Judged:
    return judged(cell, **{name: replace(Told(states=1), **changes) for name in stories(cell)})


def test_a_verdict_is_no_greener_than_what_was_searched():
    def said(results: Judged | None) -> str:
        return str(verdict(OURS, results))

    assert said(None) == "not run"
    assert said(complete(OURS)) == "safe"
    assert said(replace(complete(OURS), text="other")) == "stale"
    assert said(complete(OURS, bounded="9 transitions")) == "bounded (9 transitions)"
    assert said(complete(OURS, asked=["bad_optimizer"])) == "safe at the defaults"
    short = complete(OURS)
    del short.told["both die"]
    assert said(short) == "safe at the defaults"
    assert said(complete(OURS, found=["S7 silent"])) == "loses"
    dooms = {"broker_error_dooms=true": ["S6 row of a dead dialog"]}
    fact = SWITCHES["broker_error_dooms"].fact
    assert said(complete(OURS, changed=dooms)) == f"depends on {fact}: leaks"
    cured = {"broker_error_dooms=true": ["nothing"]}
    assert said(complete(OURS, found=["S7 silent"], changed=cured)) == f"loses, depends on {fact}"


def test_every_value_of_every_switch_asked_for_is_waited_for():
    told = Told(asked=["bad_optimizer", "target_queue_off_status"])
    waiting = told.waiting()
    assert len(waiting) == 1 + len(SWITCHES["target_queue_off_status"].values) - 1
    while told.waiting():
        told.take(told.waiting()[0], Told(asked=["bad_optimizer"], states=2, transitions=3))
    assert told.tried == waiting
    assert told.more == [2 * len(waiting), 3 * len(waiting)]
    told.take("relaunch=while messages", Told(asked=["relaunch"], found=["L2 x switched off"]))
    assert told.changed == {"relaunch=while messages": ["L2 x switched off"]}


# ---------------------------------------------------------------------- results and page
def test_what_is_kept_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "matrix.json"
    keep(RESULTS, path)
    assert kept(path) == RESULTS
    assert path.read_text("utf-8") == matrix_kept.KEPT.read_text("utf-8")


def test_the_page_says_what_the_results_say_and_every_trace_it_links_is_there():
    """After a change of the shipped text: `invoke matrix --write` (or `--limit 0 --write`, which
    searches nothing and names the cells as stale)."""
    assert [each for each in problems(RESULTS) if not each.startswith("stale: ")] == []
    links = set(re.findall(r"traces-matrix/([\w-]+)\.txt", PAGE.read_text("utf-8")))
    assert links
    assert links == linked(RESULTS).keys()


def test_each_class_has_a_picture_and_a_script():
    whole = {path.stem for path in (PAGE.parent / "traces-matrix").glob("*.html")}
    found = linked(RESULTS)
    assert {found[stem].what for stem in whole} == {each.what for each in found.values()} - {""}
    for stem in whole:
        script = (PAGE.parent / "traces-matrix" / f"{stem}.sql").read_text("utf-8")
        assert "explorer" in script


def test_every_answer_is_what_its_searches_found():
    for name, search in SEARCHES.items():
        assert search.holds(RESULTS[name].told[""].found), name
    assert {key.partition("-")[0] for key in QUESTIONS} == {"000", "001", "002", "004"}
    assert not SEARCHES["002.as-posted"].holds([])
    assert not SEARCHES["002.two-phase"].holds(["L2 x switched off"])


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
    assert bool(told.found) == (name not in (AGAIN[0][0], AGAIN[1][0]))


def test_a_question_searched_anew_says_what_its_answer_says():
    told = asked("001.shared-first-users", "", False)
    assert told.found == ["two dialogs"]
    assert asked("001.single", "bad_optimizer=true", False).found == ["a sender waits for a sender"]


def test_an_interrupted_run_goes_on_and_does_nothing_twice(tmp_path):
    path, lines = tmp_path / "matrix.json", []
    run([OURS], results := {}, lines.append, values=False, path=path)
    assert len(lines) == 2  # the small stories, then the others
    found = results[str(OURS)]
    assert found.told.keys() == stories(OURS).keys()
    assert verdict(OURS, found).kind == "unfinished"
    assert left(found, "first")
    run([OURS], again := kept(path), lines.append, values=False, path=path)
    assert len(lines) == 2
    assert again == results
    del again[str(OURS)].told["shared"]
    run([OURS], again, lines.append, values=False, path=path)
    assert len(lines) == 3
    assert again[str(OURS)].told["shared"] == found.told["shared"]


def test_values_hold_what_the_engine_calls_them():
    for judged_ in RESULTS.values():
        for told in judged_.told.values():
            for value in told.tried:
                name, _, text = value.partition("=")
                assert text in [shown(each) for each in SWITCHES[name].values[1:]]
