"""``invoke test --full --part K/N``: every test is in one part, and what has passed is not run again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from redial_lab.commands import test as command
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


def report(id: str, when: str, failed: bool = False):
    return SimpleNamespace(nodeid=id, when=when, failed=failed)


def test_only_what_is_green_to_the_end_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    monkeypatch.setenv(KEEPS, str(path))
    keeper = Keeper.of_environment(SimpleNamespace())
    for id, wrong in (("green", ""), ("red", "call"), ("no set-up", "setup"), ("left", "teardown")):
        for when in ("setup", "call", "teardown"):
            keeper.pytest_runtest_logreport(report(id, when, when == wrong))
    assert path.read_text() == "green\n"
    assert Keeper.of_environment(SimpleNamespace(workerinput={})) is None
    monkeypatch.setenv(PART, "1/1")
    monkeypatch.setenv(DONE, str(path))
    assert not Part.of_environment().has("green") and Part.of_environment().has("red")


# --- the command -------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clean repository; pytest only writes down what it was asked."""
    who = ("-c", "user.name=n", "-c", "user.email=e@x")
    (tmp_path / ".gitignore").write_text("/var/\n")
    for step in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "x")):
        subprocess.run(["git", *step], cwd=tmp_path, check=True, capture_output=True)
    made = SimpleNamespace(folder=tmp_path, asked=[], status=0)
    real = subprocess.run

    def run(arguments, **more):
        if "pytest" not in arguments:
            return real(arguments, **more)
        made.asked.append(more["env"])
        if KEEPS in more["env"]:
            with open(more["env"][KEEPS], "a") as file:
                file.write("tests/test_a.py::test_a\n")
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
    assert "; 1 tests of all parts have passed before" in capsys.readouterr().out


def test_a_part_without_a_test_is_not_green(clone):
    clone.status = 5
    assert status(full=True, part="1/3") == 5


def test_where_files_are_not_committed_nothing_is_kept(clone, capsys):
    (clone.folder / "new").write_text("")
    assert status(full=True, part="2/3") == 0
    assert KEEPS not in clone.asked[0] and "nothing is kept" in capsys.readouterr().out


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
