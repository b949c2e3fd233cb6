"""Kept results say which engine found them, and the checks say how many an older one found."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from redial.paths import SOURCES
from redial_lab.commands.pages import settle
from redial_lab.proof import matrix_command, matrix_kept, matrix_page, mutants_command, mutants_page
from redial_lab.proof.kept_ages import Ages
from redial_lab.proof.kept_searches import (
    CHECKS,
    CODE,
    HUNTS,
    UNKNOWN_ENGINE,
    Remembered,
    Search,
    code,
    engine_digest,
)
from redial_lab.proof.matrix import Cell, every_cell
from redial_lab.proof.matrix_kept import Judged, bounds_digest, essence
from redial_lab.proof.matrix_traces import Replay, keep
from redial_lab.proof.matrix_traces import ages as ages_of_traces
from redial_lab.proof.matrix_verdict import Proof

LOCKS = "redial_broker/engine/locks.py"
OURS = Cell("single", "never", "two_phase", "updlock", "rc", "autocommit")
digest_of = engine_digest.__wrapped__
"""Without what was worked out before."""


# ---------------------------------------------------------------------- the engine's digest
@pytest.fixture
def source(tmp_path) -> Path:
    """A little of the engine: a module of each folder, the locks, and the modules that judge."""
    found = [sorted((SOURCES / folder).rglob("*.py"))[-1] for folder in CODE]
    found += [SOURCES / "redial_lab" / "proof" / f"{name}.py" for name in CHECKS + HUNTS]
    for path in (*found, SOURCES / LOCKS):
        copy = tmp_path / path.relative_to(SOURCES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return tmp_path


def add(path: Path, line: str) -> None:
    """A line at the end of a module."""
    path.write_text(f"{path.read_text('utf-8')}\n{line}\n", "utf-8")


@pytest.mark.parametrize("place", [*CODE, "redial_lab/proof"])
def test_a_changed_line_anywhere_makes_another_engine(source, place):
    before = digest_of(source)
    add(next((source / place).rglob("*.py")), "BROKEN = True")
    assert digest_of(source) != before


def test_what_only_hunts_for_mutants_decide_makes_no_other_engine_of_the_matrix(source):
    before, hunts = digest_of(source), digest_of(source, (*CHECKS, *HUNTS))
    add(source / "redial_lab" / "proof" / "outcomes.py", "BROKEN = True")
    assert digest_of(source) == before
    assert digest_of(source, (*CHECKS, *HUNTS)) != hunts


def test_a_comment_does_not(source):
    before = digest_of(source)
    add(source / LOCKS, "# nothing")
    assert digest_of(source) == before


def test_a_folder_that_is_no_more_is_not_left_out_in_silence(source):
    shutil.rmtree(source / "redial_broker" / "ssb")
    with pytest.raises(FileNotFoundError, match="no Python"):
        digest_of(source)


def test_a_digest_is_the_same_by_every_python_and_on_every_system(tmp_path):
    """Red on the Python that writes a tree otherwise: then every kept result would seem older."""
    path = tmp_path / "made.py"
    text = (
        "def f(a, *, b=None):\n    x: int = 1\n    return f'{a!r:>{b}}', [], x\n\n\nclass C: ...\n"
    )
    path.write_bytes(text.encode())
    unix = code([path], tmp_path)
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert unix == code([path], tmp_path) == "d6c36b54"


# ---------------------------------------------------------------------- the matrix
@pytest.fixture
def one_cell(monkeypatch):
    """There is one cell, and no question."""
    monkeypatch.setattr(matrix_kept, "every_cell", lambda: [OURS])
    monkeypatch.setattr(matrix_kept, "SEARCHES", {})


def judged(engine: str, text: str = "") -> dict[str, Judged]:
    return {str(OURS): Judged(text or essence(OURS), bounds_digest(OURS), engine, "c")}


def test_a_broken_lock_makes_every_result_one_of_an_older_engine(one_cell, source):
    before = digest_of(source)
    assert matrix_kept.ages(judged(before), before).found == {(True, True): 1}
    add(source / LOCKS, "LockManager.acquire = None")
    after = digest_of(source)
    assert matrix_kept.ages(judged(before), after).found == {(False, True): 1}


def test_an_older_text_and_a_missing_result_are_told_apart(one_cell):
    assert matrix_kept.ages(judged("e", "other"), "e").found == {(True, False): 1}
    assert matrix_kept.ages(judged("e", "other"), "f").found == {(False, False): 1}
    assert matrix_kept.ages({}, "e").missing == 1


def test_a_result_without_an_engine_is_of_an_unknown_one(one_cell, tmp_path):
    entry = {"text": essence(OURS), "bounds": bounds_digest(OURS), "commit": "c", "told": {}}
    path = tmp_path / "matrix.json"
    path.write_text(json.dumps({"asked": {}, "results": {str(OURS): entry}}), "utf-8")
    results = matrix_kept.kept(path)
    assert results[str(OURS)].engine == UNKNOWN_ENGINE
    assert matrix_kept.ages(results, "e").found == {(False, True): 1}


@pytest.mark.parametrize(("wrong", "status"), [([], 0), (["stale: a cell"], 1)])
def test_the_check_of_the_matrix_tells_it_and_stays_green(
    monkeypatch, capsys, one_cell, wrong, status
):
    monkeypatch.setattr(matrix_command, "kept", lambda: judged("older"))
    monkeypatch.setattr(matrix_command, "problems", lambda results: list(wrong))
    monkeypatch.setattr(matrix_command.matrix_traces, "ages", lambda: "some traces")
    monkeypatch.setattr(matrix_kept, "engine_digest", lambda: "today's")
    assert matrix_command.check() == status
    assert capsys.readouterr().out.splitlines() == [
        *wrong,
        "answer-matrix.md: outdated, which is no failure: 1 results, 0 of today's engine and text, "
        "1 of an older engine. When there are hours for it: invoke matrix --again --write --traces",
        "some traces",
        *["answer-matrix.md: wrong, see the 1 lines above. Next: invoke matrix --write --traces"]
        * status,
    ]


def test_traces_say_their_engine(tmp_path):
    path = tmp_path / "traces.json"
    keep([Replay(Proof(name, "a.b", ""), "12ab", name, 1, "51") for name in ("beef", "old")], path)
    assert ages_of_traces("beef", path) == "2 traces: 1 of this engine, 1 of an older engine"


# ---------------------------------------------------------------------- the mutants
def hunted(**keys: str) -> Remembered:
    remembered = Remembered(None)
    for name, key in keys.items():
        remembered.keep(name, {"a case": Search(key)})
    return remembered


def test_mutants_are_counted_by_engine_and_text(monkeypatch):
    monkeypatch.setattr(mutants_command, "HISTORY", {})
    monkeypatch.setattr(mutants_command, "texts", lambda: lambda name, case: "text")
    monkeypatch.setattr(mutants_command, "cases_of", lambda name: ("a case",))
    remembered = hunted(a="e-text", b="old-text", c="e-other", d="20dd5f9f")
    found = mutants_command.ages(remembered, ["a", "b", "c", "d", "x"], "e")
    assert found.found == {
        **{(True, True): 1, (False, True): 1, (True, False): 1},
        (False, None): 1,  # what was kept in the old way: nothing says which text it is of
    }
    assert found.missing == 1
    assert str(found) == (
        "4 results, 1 of today's engine and text, 1 of an older engine, 1 of an older engine that "
        "kept no text, 1 of an older text, 1 not searched yet"
    )


def test_a_survivor_that_was_not_hunted_in_a_new_case_is_of_an_older_text(monkeypatch):
    monkeypatch.setattr(mutants_command, "HISTORY", {})
    monkeypatch.setattr(mutants_command, "texts", lambda: lambda name, case: "text")
    monkeypatch.setattr(mutants_command, "cases_of", lambda name: ("a case", "a new case"))
    assert mutants_command.ages(hunted(a="e-text"), ["a"], "e").found == {(True, False): 1}
    caught = Remembered(None)
    caught.keep("a", {"a case": Search("e-text", claim="S1")})
    assert mutants_command.ages(caught, ["a"], "e").found == {(True, True): 1}


def test_the_sixteen_are_counted_too(monkeypatch):
    listed = mutants_command.HISTORY[1]
    monkeypatch.setattr(mutants_command, "HISTORY", {1: listed})
    monkeypatch.setattr(mutants_command, "texts", lambda: lambda name, case: "")
    row = {"mutant": f"`{listed.mutant}`", "engine": f"e-{listed.text}"}
    for rows, engine, found in (
        ([row], "e", {(True, True): 1}),
        ([row], "f", {(False, True): 1}),
        ([{**row, "engine": "e-other"}], "e", {(True, False): 1}),
        ([], "e", {}),
    ):
        monkeypatch.setattr(mutants_command, "kept", lambda rows=rows: rows)
        ages = mutants_command.ages(hunted(), [], engine)
        assert (ages.found, ages.missing) == (found, int(not rows))


# ---------------------------------------------------------------------- what is said
def test_pages_does_not_call_old_results_up_to_date(tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text("text", "utf-8")
    old = Ages("a command", Counter({(False, True): 2, (True, True): 1}))
    new = Ages("a command", Counter({(True, True): 3}))
    assert settle("page.md", path, "text", True, old.verdict)
    assert settle("page.md", path, "text", True, new.verdict)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "page.md: outdated, which is no failure: 3 results, 1 of today's engine and text, 2 of an older"
    )
    assert second.startswith("page.md: up to date: 3 results, 3 of today's engine and text")


def test_no_page_has_to_be_made_again_because_the_engine_moved_on(monkeypatch):
    """It says which engines found what is on it, and never which one is today's."""

    def asked() -> str:
        raise AssertionError("a page asked for today's engine")

    monkeypatch.setattr(matrix_kept, "engine_digest", asked)
    for module in (mutants_command, mutants_page):
        monkeypatch.setattr(module, "hunt_digest", asked)
    row = [cell for cell in every_cell() if str(cell).startswith("single never two_phase updlock")]
    monkeypatch.setattr(matrix_page, "every_cell", lambda: row)
    said = matrix_page.text(judged("beef"))
    assert "The 1 results on this page were found by 1 engines" in said
    assert "| c | beef | 1 |" in said
    said = mutants_page.text(mutants_page.kept(), [], [], [])
    assert "Each result carries the digest of the engine that found it" in said
