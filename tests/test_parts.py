"""``invoke test --full --part K/N``: every test is in one part, and what has passed is not run again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from redial_lab.commands import test as command
from redial_lab.commands.test import WRITTEN
from redial_lab.nights import NIGHTLY, Ended, Nights, Outcome, in_part
from tests.parts import Keeper, Part
from tests.sampling import DONE, KEEPS, PART

IDS = [
    f"tests/test_{file}.py::test_{n}[{case}]" for file in "ab" for n in range(50) for case in "xy"
]


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_every_test_is_in_one_part_and_a_family_stays_together(of):
    parts = [{id for id in IDS if Part(f"{number}/{of}").has(id)} for number in range(1, of + 1)]
    assert sorted(id for part in parts for id in part) == sorted(IDS) and all(parts)
    families = [{id.partition("[")[0] for id in part} for part in parts]
    assert sum(map(len, families)) == 100


def test_what_has_passed_is_left_out():
    part = Part("1/1", IDS[:150])
    assert [id for id in IDS if part.has(id)] == IDS[150:]


def test_without_a_part_all_is_wanted(monkeypatch):
    monkeypatch.delenv(PART, raising=False)
    assert Part.of_environment() is None


def report(id: str, when: str, outcome: str, keywords: tuple[str, ...] = ()):
    passed, failed = outcome == "passed", outcome == "failed"
    return SimpleNamespace(
        nodeid=id,
        outcome=outcome,
        when=when,
        passed=passed,
        failed=failed,
        skipped=not (passed or failed),
        keywords=keywords,
    )


def test_what_is_green_to_the_end_what_is_red_and_what_is_skipped_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    monkeypatch.setenv(KEEPS, str(path))
    keeper = Keeper.of_environment(SimpleNamespace())
    ends = {"green": {}, "skipped": {"call": "skipped"}, "red": {"call": "failed"}}
    ends |= {"left": {"teardown": "failed"}, "begun": {"setup": "failed"}}
    for id, other in ends.items():
        for when in ("setup", "call", "teardown"):
            if when != "call" or id != "begun":
                keeper.pytest_runtest_logreport(report(id, when, other.get(when, "passed")))
    keeper.pytest_runtest_logreport(report("of a family[a b]", "call", "failed", ("sampled",)))
    assert path.read_text().splitlines() == [
        "passed gate green",
        "skipped gate skipped",
        "failed gate red",
        "failed gate left",
        "failed gate begun",
        "failed night of a family[a b]",
    ]
    assert Keeper.of_environment(SimpleNamespace(workerinput={})) is None
    path.write_text("green\n")
    monkeypatch.setenv(PART, "1/1")
    monkeypatch.setenv(DONE, str(path))
    assert not Part.of_environment().has("green") and Part.of_environment().has("red")


A = "tests/test_a.py::test_a"
CASE, RED = f"{A}[case]", f"{A}[red]"

# --- the command -------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clean repository; pytest only writes down what it was asked. It may be run in a night of ours."""
    monkeypatch.setenv(KEEPS, str(tmp_path / "ours"))
    monkeypatch.setenv(PART, "2/3")
    who = ("-c", "user.name=n", "-c", "user.email=e@x")
    (tmp_path / ".gitignore").write_text("/var/\n")
    for step in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "x")):
        subprocess.run(["git", *step], cwd=tmp_path, check=True, capture_output=True)
    made = SimpleNamespace(
        folder=tmp_path, asked=[], status=0, outcomes=[Outcome(Ended.PASSED, False, A)]
    )
    real = subprocess.run

    def run(arguments, **more):
        if "pytest" not in arguments:
            return real(arguments, **more)
        made.asked.append(more["env"])
        if KEEPS in more["env"]:
            with open(more["env"][KEEPS], "a") as file:
                file.write("".join(one.line() for one in made.outcomes))
        return SimpleNamespace(returncode=made.status)

    monkeypatch.setattr(command, "clone", lambda _: tmp_path)
    monkeypatch.setattr(command.subprocess, "run", run)
    return made


def status(**options) -> int:
    try:
        command.test(**options)
    except SystemExit as ended:
        return ended.code
    return 0


def test_a_part_goes_on_where_it_stopped_on_the_same_commit(clone, capsys):
    """1 a run is red, one test has passed  2 the next knows that  3 nothing is left, which is green."""
    clone.status = 1
    assert status(full=True, part="1/3") == 1
    assert clone.asked[0][PART] == "1/3" and Path(clone.asked[0][DONE]).read_text() == ""
    clone.status = 5
    assert status(full=True, part="1/3") == 0
    assert "; passed before: 1\n" in capsys.readouterr().out


def test_a_part_without_a_test_is_not_green(clone):
    clone.status = 5
    assert status(full=True, part="1/3") == 5


def test_where_files_are_not_committed_nothing_is_kept(clone, capsys):
    (clone.folder / "new").write_text("")
    assert status(full=True, part="1/3") == 0
    assert KEEPS not in clone.asked[0] and clone.asked[0][PART] == "1/3"
    assert "nothing is kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        {"part": "1/3"},
        {"part": "4/3", "full": True},
        {"part": "0/3", "full": True},
        {"part": "a", "full": True},
        {"part": "1/3", "full": True, "select": "x"},
    ],
)
def test_what_is_no_part_is_refused(options, clone, capsys):
    assert status(**options) == 1 and clone.asked == []
    assert "is no part of --full\n  Next: " in capsys.readouterr().err


# --- what a night has passed -------------------------------------------------------------------


def test_what_a_night_has_passed_is_kept_until_it_is_red(clone, capsys):
    """1 a night passes two cases  2 the next is red in one: it is new again  3 a part passes it."""
    path = clone.folder / NIGHTLY
    path.parent.mkdir()
    clone.outcomes = [
        Outcome(Ended.PASSED, True, CASE),
        Outcome(Ended.PASSED, True, RED),
        Outcome(Ended.PASSED, False, A),
    ]
    assert status(full=True) == 0
    kept = Nights.read(path)
    assert not kept.new(CASE) and not kept.new(RED) and kept.new(A)
    assert f"{NIGHTLY} has changed: commit it" in capsys.readouterr().out
    clone.status, clone.outcomes = (
        1,
        [Outcome(Ended.PASSED, True, CASE), Outcome(Ended.FAILED, True, RED)],
    )
    assert status(full=True) == 1
    assert not Nights.read(path).new(CASE) and Nights.read(path).new(RED)
    clone.status, clone.outcomes = (
        0,
        [Outcome(Ended.PASSED, True, CASE), Outcome(Ended.PASSED, True, RED)],
    )
    assert status(full=True, part="1/3") == 0
    assert not Nights.read(path).new(CASE) and not Nights.read(path).new(RED)


def test_a_whole_night_forgets_what_is_gone(clone):
    path = clone.folder / NIGHTLY
    path.parent.mkdir()
    clone.outcomes = [Outcome(Ended.PASSED, True, CASE)]
    assert status(full=True) == 0
    clone.outcomes = [Outcome(Ended.PASSED, True, RED)]
    assert status(full=True) == 0
    assert Nights.read(path).new(CASE) and not Nights.read(path).new(RED)


def test_a_part_that_has_ended_forgets_what_is_gone_of_its_own(clone):
    """Of other parts it knows nothing, and one that was cut off does not know what it would have met."""
    path = clone.folder / NIGHTLY
    path.parent.mkdir()
    mine, other = ("1/2", "2/2") if in_part(A, "1/2") else ("2/2", "1/2")
    clone.outcomes = [Outcome(Ended.PASSED, True, CASE)]
    assert status(full=True) == 0
    clone.outcomes = [Outcome(Ended.PASSED, True, RED)]
    assert status(full=True, part=other) == 0
    assert not Nights.read(path).new(CASE)
    clone.status = 2
    assert status(full=True, part=mine) == 2
    assert not Nights.read(path).new(CASE)
    clone.status = 0
    assert status(full=True, part=mine) == 0
    assert Nights.read(path).new(CASE) and not Nights.read(path).new(RED)


def test_a_case_whose_turn_is_another_night_stays_what_it_was(clone):
    (clone.folder / "evidence").mkdir()
    clone.outcomes = [Outcome(Ended.PASSED, True, CASE)]
    assert status(full=True) == 0
    clone.outcomes = [Outcome(Ended.SKIPPED, True, CASE), Outcome(Ended.SKIPPED, True, RED)]
    assert status(full=True) == 0
    kept = Nights.read(clone.folder / NIGHTLY)
    assert not kept.new(CASE) and kept.new(RED)


def test_a_case_that_ends_its_process_is_new_again(clone):
    """Its report comes without the names of its markers."""
    (clone.folder / "evidence").mkdir()
    clone.outcomes = [Outcome(Ended.PASSED, True, CASE)]
    assert status(full=True) == 0
    clone.outcomes = [
        Outcome(Ended.FAILED, False, CASE),
        Outcome(Ended.FAILED, False, "tests/test_b.py::test_b"),
    ]
    assert status(full=True, part="1/2") == 0
    assert Nights.read(clone.folder / NIGHTLY).new(CASE)


def test_what_a_night_has_written_does_not_keep_the_next_from_it(clone):
    for path in WRITTEN:
        (clone.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (clone.folder / path).write_text("")
    assert status(full=True, part="1/3") == 0
    assert KEEPS in clone.asked[0]


@pytest.mark.parametrize(
    "line", ["<<<<<<< HEAD", "tests/test_a.py::test_a 12345", "", "=======", "x y"]
)
def test_a_broken_file_is_named_with_its_line(line, tmp_path):
    path = tmp_path / "nightly.txt"
    path.write_text(f"tests/test_a.py::test_a 012def\n{line}\n")
    with pytest.raises(ValueError, match=r"nightly.txt, line 2: .* Next: "):
        Nights.read(path)


@pytest.mark.parametrize(("options", "status_of_pytest"), [({"part": "1/3"}, 0), ({}, 2)])
def test_what_is_new_is_not_told_before_a_whole_night(options, status_of_pytest, clone):
    """By a part, or by a run that was interrupted."""
    clone.status, clone.outcomes = status_of_pytest, [Outcome(Ended.PASSED, True, CASE)]
    status(full=True, **options)
    assert not (clone.folder / NIGHTLY).exists() and not Nights.read(clone.folder / NIGHTLY).new(
        RED
    )


def test_a_line_that_was_cut_off_is_not_read(clone):
    clone.outcomes = [Outcome(Ended.PASSED, True, CASE)]
    (clone.folder / "evidence").mkdir()
    assert status(full=True, part="1/1") == 0
    kept = next((clone.folder / "var" / "full").glob("*.txt"))
    kept.write_text(kept.read_text() + "passed night tests/test_b.py::te")
    clone.outcomes = []
    assert status(full=True, part="1/1") == 0
    assert Path(clone.asked[-1][DONE]).read_text() == f"{CASE}\n"


def test_of_a_run_with_changed_files_nothing_is_kept_of_the_night(clone):
    (clone.folder / "new").write_text("")
    clone.outcomes = [Outcome(Ended.PASSED, True, CASE)]
    assert status(full=True) == 0
    assert not (clone.folder / NIGHTLY).exists()
