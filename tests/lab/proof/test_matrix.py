"""The answer matrix: its cells, its verdicts, and that a run goes on where it ended."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from redial.config.choices import Key, LookupHint, Recycle, TimerStrategy
from redial.config.keys import keys_with
from redial_broker.engine.switches import SWITCHES
from redial_lab.explore.search import search
from redial_lab.proof import matrix_kept, matrix_run
from redial_lab.proof.matrix import STORIES, Cell, class_of, classes, every_cell, refused, stories
from redial_lab.proof.matrix_kept import Judged, Told, kept, left, same_text
from redial_lab.proof.matrix_oldest import oldest
from redial_lab.proof.matrix_run import asked, run
from redial_lab.proof.matrix_verdict import verdict
from redial_lab.proof.questions import SEARCHES
from redial_lab.proof.setups import Setup
from tests.sampling import full


@pytest.fixture(autouse=True)
def any_engine(monkeypatch):
    """The digest of the engine's code takes seconds; that of tests/lab/proof/test_hunt.py is real."""
    monkeypatch.setattr(matrix_run, "engine_digest", lambda: "the engine's")


OURS = Cell("single", "never", "two_phase", "updlock", "rc", "autocommit")


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
    (key,) = keys_with("article")
    cells = [cell for cell in every_cell() if (cell.key, cell.recycle) == (key, "timer")]
    other = {str(cell): str(same) for cell, same in same_text(cells).items() if cell != same}
    assert len(other) == 16
    assert all(" article " in name and " article updlock " in same for name, same in other.items())


def test_every_violation_has_a_class():
    with pytest.raises(KeyError, match="'nonsense' belongs to no class"):
        class_of("nonsense")
    assert classes(
        [
            "L2 x switched off",
            "S7 silent",
            "deadlock of a and b: b dies",
            "deadlock of a and b: a dies",
        ]
    ) == ["deadlocks (a or b dies)", "loses", "stalls"]


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
    assert said(complete(OURS, asked=["bad_optimizer"], together=["bad_optimizer=true"])) == (
        "safe, values together"
    )
    assert said(complete(OURS, asked=["bad_optimizer"], tried=["bad_optimizer=true"])) == "safe"
    short = complete(OURS)
    del short.told["shared"]
    assert said(short) == "safe at the defaults"
    small = complete(OURS)
    del small.told["both die"]
    assert said(small) == "safe"
    assert verdict(OURS, complete(OURS)).large
    assert not verdict(OURS, small).large
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


def test_the_oldest_results_are_searched_first_and_those_of_today_not_at_all():
    """1 never searched  2 at a commit that is not known here  3 at an old one  4 of today."""
    never, unknown, old, new, today = every_cell()[:5]

    def at(commit: str, cell: Cell, engine: str) -> Judged:
        return replace(complete(cell), commit=commit, engine=engine)

    results = {
        str(unknown): at("none", unknown, "before"),
        str(new): at("ccc+", new, "before"),
        str(old): at("aaa", old, "before"),
        str(today): at("aaa", today, "today"),
    }
    name = next(iter(SEARCHES))
    cells, commits = [today, new, old, unknown, never], ["ccc111", "bbb111", "aaa111"]

    def chosen(count: int):
        return oldest(count, cells, [name], results, "today", commits)

    assert chosen(9) == ([never, unknown, old, new], [name], 5)
    assert chosen(1) == ([never], [], 5)
    assert chosen(2) == ([never], [name], 5)
    assert chosen(3) == ([never, unknown], [name], 5)
    results[str(unknown)].told["first"] = Told(asked=["relaunch"], tried=["relaunch=never"])
    assert chosen(9) == ([never, old, new], [name], 5)  # its other values are not forgotten


# ---------------------------------------------------------------------- running
@pytest.fixture
def fewer_stories():
    """Three of them; with --full all. They come back in their order, which the page is written in."""
    before = dict(STORIES)
    for name in () if full() else before.keys() - {"first", "shared", "killed"}:
        del STORIES[name]
    yield
    STORIES.clear()
    STORIES.update(before)


def test_an_interrupted_run_goes_on_and_does_nothing_twice(tmp_path, monkeypatch, fewer_stories):
    """With three stories, each a process; with --full all of them."""
    monkeypatch.setattr(
        matrix_run, "TRANSITIONS", 2_000 if full() else 200
    )  # how far each goes is of no matter here
    matrix_run._installed(OURS)  # what is parsed now is not parsed in each process
    path, lines = tmp_path / "matrix.json", []
    run([OURS], results := {}, lines.append, values=False, path=path)
    assert len(lines) == 2  # the small stories, then the others
    found = results[str(OURS)]
    assert found.told.keys() == stories(OURS).keys()
    assert str(verdict(OURS, found)).startswith("bounded")
    assert left(found, "first")
    run([OURS], again := kept(path), lines.append, values=False, path=path)
    assert len(lines) == 2
    assert again == results
    del again[str(OURS)].told["shared"]
    run([OURS], again, lines.append, values=False, path=path)
    assert len(lines) == 3
    assert again[str(OURS)].told["shared"] == found.told["shared"]


def test_a_question_is_answered_by_its_search():
    told = asked("001.shared-first-users", "", False)
    assert told.found == ["two dialogs"]
    assert SEARCHES["001.shared-first-users"].holds(told.found)
    assert asked("001.single", "bad_optimizer=true", False).found == ["a sender waits for a sender"]
    assert not SEARCHES["002.as-posted"].holds([])
    assert not SEARCHES["002.two-phase"].holds(["L2 x switched off"])


ASKED = [
    "bad_optimizer",
    "broker_error_dooms",
    "poison_reset",
    "receive_status",
    "relaunch",
    "target_queue_off_status",
]


@pytest.mark.parametrize(
    "taken",
    [
        "broker_error_dooms=true",
        "bad_optimizer=true",
        "relaunch=while messages",
        "poison_reset=never+receive_status=0",
        "",
    ],
)
def test_values_many_at_a_time_name_the_ones_it_takes(taken, monkeypatch, tmp_path):
    """Every value was in force in some search; what is found is blamed on what it takes."""
    story, seen, guilty = "first", set(), set(filter(None, taken.split("+")))

    def fake(installed, wanted, value, first):
        values = set(value.split("+"))
        seen.update(values)
        found = ["L2 x switched off"] if guilty and guilty <= values else []
        return [
            (cell, name, Told(states=1, found=found, asked=list(ASKED))) for cell, name in wanted
        ]

    monkeypatch.setattr(matrix_run, "_searched", fake)
    monkeypatch.setattr(matrix_run, "_installed", lambda cell: None)
    results = {str(OURS): complete(OURS)}
    results[str(OURS)].told[story].asked = list(ASKED)
    matrix_run.Run(results, print, tmp_path / "m.json").together([OURS])
    told = results[str(OURS)].told[story]
    assert told.untouched() == []
    assert seen == set(Told(asked=ASKED).waiting())
    assert {*told.tried} >= (guilty if len(guilty) == 1 else set())
    blamed = {value for each in told.changed for value in each.split("+")}
    assert guilty <= blamed if guilty else not blamed
    assert len(guilty) != 1 or blamed == guilty


def test_a_reader_that_finds_an_earlier_reader_at_a_changed_row_waits_for_who_changed_it():
    """Found by the matrix: the writer's lock was asked for as if it could wait."""
    result = search(
        Setup.parse(
            "key=message recycle=never senders=1 firings=0 faults=target_ends "
            "switches=endpoint_reads_wait:true"
        ).scenario()
    )
    assert result.ended
    assert result.violations == {}
