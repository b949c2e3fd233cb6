"""``invoke bench --compare``: two codes in turns, and what the ratios are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redial_lab.bench.compare import COMPARED, Kept, checked_out, compare, measure
from redial_lab.bench.run import FIGURES
from redial_lab.commands import bench as command
from redial_lab.git import git

OLD, NEW = Path("old"), Path("new")


def test_both_are_measured_in_turns_and_who_is_first_changes():
    asked = []

    def seen(tree: Path, name: str) -> float:
        asked.append((name, tree.name))
        return {OLD: 100.0, NEW: 130.0}[tree]

    compare(OLD, NEW, 3, lambda _: None, seen)
    assert [tree for name, tree in asked if name == COMPARED[0]] == [
        *("old", "new", "new", "old", "old", "new")
    ]


def test_a_ratio_above_one_is_faster_whatever_the_unit():
    figures = {OLD: iter([100.0, 200.0] * 9), NEW: iter([150.0, 250.0] * 9)}
    found = compare(OLD, NEW, 2, lambda _: None, lambda tree, _: next(figures[tree]))
    by_name = {one.name: one for one in found}
    rate, time = by_name["land.per_s"], by_name["database.restore_ms"]
    assert (rate.old, rate.new, rate.times) == (150, 200, pytest.approx(4 / 3))
    assert (rate.least, rate.most) == (1.25, 1.5)
    assert (time.times, time.least) == (pytest.approx(0.75), pytest.approx(2 / 3))


def test_each_name_is_a_figure():
    assert set(COMPARED) <= {figure.name for figure in FIGURES}


@pytest.fixture
def clone(tmp_path):
    """A repository of two commits; in the first a figure cannot be measured."""
    root = tmp_path / "clone"
    package = root / "harness" / "redial_lab" / "bench"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    who = ("-c", "user.name=n", "-c", "user.email=e@x")
    git(tmp_path, "init", "-q", str(root))
    for text in ("raise ValueError('not yet')\n", FIGURES_OF_OURS):
        (package / "run.py").write_text(text)
        git(root, "add", "-A")
        git(root, *who, "commit", "-qm", "x")
    return root


FIGURES_OF_OURS = """
from types import SimpleNamespace
FIGURES = [SimpleNamespace(name="land.per_s", measure=lambda: 42.5)]
"""


def test_the_code_of_the_commit_is_what_is_measured(clone):
    """1 this code  2 the older one, whose error is told  3 its work tree is gone."""
    assert measure(clone, "land.per_s") == 42.5
    older = git(clone, "rev-parse", "HEAD~1").strip()
    with (
        checked_out(clone, older) as tree,
        pytest.raises(RuntimeError, match="ValueError: not yet"),
    ):
        measure(tree, "land.per_s")
    assert not tree.exists()
    assert len(git(clone, "worktree", "list").splitlines()) == 1


def test_a_line_is_kept_for_each_two_codes(tmp_path):
    path = tmp_path / "bench.json"
    for new, times in (("v1", 1.0), ("v2", 1.1), ("v2", 1.2)):
        entry = {"new": new, "old": "v0", "times_as_fast": {"land.per_s": times}}
        path.write_text(Kept(path).text(entry))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["new"], line["times_as_fast"]["land.per_s"]) for line in lines] == [
        ("v1", 1.0),
        ("v2", 1.2),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"against": "nowhere"}, "--compare nowhere: is no commit here"),
        ({"against": "HEAD", "what": "day"}, "--compare: has its own figures"),
    ],
)
def test_what_cannot_be_compared_is_refused(options, said, capsys):
    with pytest.raises(SystemExit):
        command.bench(**options)
    assert said in capsys.readouterr().err


def test_a_commit_without_the_package_is_not_measured_by_ours(clone):
    git(clone, "rm", "-rq", "harness")
    git(clone, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "x")
    with (
        checked_out(clone, "HEAD") as tree,
        pytest.raises(RuntimeError, match=r"land\.per_s of HEAD: it has no redial_lab"),
    ):
        measure(tree, "land.per_s")


def test_a_figure_that_a_commit_lacks_is_named(clone):
    with pytest.raises(RuntimeError, match=r"restore_ms of clone: it has no such figure"):
        measure(clone, "database.restore_ms")


def test_a_file_of_something_else_is_refused_before_anything_is_measured(
    clone, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(command, "clone", lambda _: clone)
    monkeypatch.setattr(command, "compare", lambda *_: pytest.fail("measured"))
    for text in ('{\n "send": 1\n}\n', '{"send": 1}\n', "[1]\n"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(SystemExit):
            command.bench(against="HEAD~1", path=str(tmp_path / "x.json"))
        assert "x.json: is no file of comparisons" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.bench(against="HEAD~1", path=str(tmp_path / "none" / "x.json"))
    assert "No such file" in capsys.readouterr().err


def test_the_table_says_what_was_compared_with_what(clone, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command, "clone", lambda _: clone)
    monkeypatch.setattr(
        command, "compare", lambda *_: compare(OLD, NEW, 1, lambda _: None, lambda *_: 7.0)
    )
    path = tmp_path / "bench.json"
    command.bench(against="HEAD~1", runs=1, path=str(path))
    new, old = (git(clone, "rev-parse", "--short=12", ref).strip() for ref in ("HEAD", "HEAD~1"))
    said = capsys.readouterr().out
    assert f"{new} beside {old}, medians of 1 turns" in said and "1.00 to 1.00" in said
    line = json.loads(path.read_text())
    assert (line["new"], line["old"], line["turns"]) == (new, old, 1)
    assert "embedded" in line["what"]
