"""docs/generated/answer-matrix.md: it says what the results say; a cell of each class is searched anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redial_broker.engine.switches import SWITCHES, shown
from redial_lab.commands.matrix import matrix
from redial_lab.explore.search import ALSO
from redial_lab.proof import matrix_kept, matrix_page, matrix_traces
from redial_lab.proof.matrix import Cell, class_of, every_cell
from redial_lab.proof.matrix_kept import keep, kept
from redial_lab.proof.matrix_page import problems
from redial_lab.proof.matrix_run import searched
from redial_lab.proof.matrix_verdict import Verdict
from redial_lab.proof.questions import QUESTIONS, SEARCHES

RESULTS = kept()
TRACES = matrix_traces.kept()
WHOLE = "article-updlock-deadlock-of-usp_send-and-usp_senderactivation-a-sender-dies"
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


def test_a_link_leads_to_the_line_of_a_kept_trace_and_to_nowhere_without_one(monkeypatch):
    """Dead, mkdocs fails on it (``invoke check``)."""
    proof = TRACES[WHOLE].proof
    said = Verdict("violated", (("deadlocks", proof),))
    monkeypatch.setattr(matrix_page, "linked", lambda results: {WHOLE: proof})
    monkeypatch.setattr(matrix_page, "verdict", lambda *_, **__: said)
    for traces, lines in ((TRACES, 1), ({}, 0)):
        page = matrix_page.text(RESULTS, traces)
        assert f"[deadlocks](#{WHOLE})" in page
        assert page.count(f'<a id="{WHOLE}"></a>') == lines


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("cause", TRACES)
def test_a_kept_word_meets_its_violation_again(cause):
    """Next, where it fails or is skipped: `invoke matrix --write --traces`."""
    trace = TRACES[cause]
    assert trace.proof.cause == cause
    if trace.stale():
        pytest.skip(f"{cause}: its text has changed since it was found")
    _, violation = trace.met()
    assert trace.proof.name in violation.name.split(ALSO)
    assert len(violation.path) == trace.steps


def test_turns_picture_and_script_are_made_of_a_kept_word(tmp_path, capsys):
    if TRACES[WHOLE].stale():
        pytest.skip(f"{WHOLE}: its text has changed since it was found")
    matrix(show=WHOLE, out=str(tmp_path))
    told = capsys.readouterr().out
    assert TRACES[WHOLE].proof.name in told and f"replay: {TRACES[WHOLE].word}@" in told
    suffixes = {path.suffix: path.read_text("utf-8") for path in tmp_path.glob(f"{WHOLE}.*")}
    assert suffixes.keys() == {".txt", ".html", ".sql"} and "explorer.Turn" in suffixes[".sql"]


def test_a_word_that_is_no_path_any_more_says_what_to_do(monkeypatch, capsys):
    broken = {WHOLE: replace(TRACES[WHOLE], word="51.ssb:9")}
    monkeypatch.setattr(matrix_traces, "kept", lambda: broken)
    for cause in (WHOLE, "no-such"):
        with pytest.raises(SystemExit):
            matrix(show=cause)
    told = capsys.readouterr().err
    assert "no ssb:9 is possible there" in told and "invoke matrix --write --traces" in told
    assert "no such trace is kept" in told


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
