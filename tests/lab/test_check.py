"""invoke check and invoke pages: each rule is broken once, and must say so."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from redial.paths import DOCS, ROOT
from redial_lab.commands import check as checking
from redial_lab.commands import pages as module
from redial_lab.commands.check import RULES, Rule
from redial_lab.commands.pages import ELSEWHERE, PAGES, Page
from tests.sampling import full

BREAKS = {
    "Python: mistakes and style": ("harness/redial/quoting.py", "\n\nimport os\n"),
    "Python: layout": ("harness/redial/quoting.py", "\n\nFORM = {  'a':1}\n"),
    "spelling of pages, code and T-SQL; not of tests": (
        "docs/hook.md",
        "\nA word of bad speling.\n",
    ),
    "the pages make a site without a dead link": ("docs/hook.md", "\n[There](nowhere.md)\n"),
    "types, strictly, of all four packages": (
        "harness/redial/quoting.py",
        '\n\ndef wrong(value: str) -> int:\n    """Not so."""\n    return value\n',
    ),
    "arrows between rooms go one way": (
        "harness/redial/deploy/errors.py",
        "\n\nfrom redial_broker import engine  # noqa\n",
    ),
    "sql/generated is what the templates render": (
        "sql/generated/audit/1_core.sql",
        "-- by hand\n",
    ),
}
"""A rule's title: a file, and what is put at its end."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """What git would give a newcomer, as it stands here."""
    folder = tmp_path_factory.mktemp("checkout")
    told = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, told.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    if (ROOT / "var" / "mypy").is_dir():  # what it knows already, and may be writing just now
        with suppress(shutil.Error):
            shutil.copytree(ROOT / "var" / "mypy", folder / "var" / "mypy")
    return folder


def run(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "PYTHONPATH": str(folder / "harness")},
    )


FAST = {rule.title: rule for rule in RULES if not rule.slow}
LONG = {
    "the pages make a site without a dead link": (),
    "sql/generated is what the templates render": (),
    "types, strictly, of all four packages": ("harness/redial/quoting.py",),
}
"""Rules that take too long to be looked at twice a day: `invoke check --fast`, which .ci/run begins
with, says that they hold. Here they are only broken; types in the file named and what it imports."""


def test_every_fast_rule_is_broken_here():
    assert set(BREAKS) == set(FAST)


@pytest.mark.parametrize("title", BREAKS)
def test_a_rule_holds_and_can_be_broken(copy, title):
    """With --full those of LONG are also seen to hold, and types are those of all packages."""
    name, text = BREAKS[title]
    command, twice = FAST[title].command, full() or title not in LONG
    if twice:
        done = run(command, copy)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        command = (*command, *LONG[title])
    file = copy / name
    before = file.read_text("utf-8")
    file.write_text(before + text, "utf-8")
    done = run(command, copy)
    file.write_text(before, "utf-8")
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert file.stem in told, "it says what is wrong, and where"


def rules(*statuses: int) -> tuple[Rule, ...]:
    """Rules whose commands end so; the last one is slow."""
    return tuple(
        Rule(
            f"rule {n}",
            (sys.executable, "-c", f"print('told {n}'); raise SystemExit({status})"),
            f"mend {n}",
            slow=n == len(statuses) - 1,
        )
        for n, status in enumerate(statuses)
    )


def test_what_is_broken_is_shown_with_the_next_step_and_the_others_go_on(monkeypatch, capsys):
    monkeypatch.setattr(checking, "RULES", rules(0, 2, 0))
    with pytest.raises(SystemExit):
        checking.check()
    told = capsys.readouterr().out
    assert re.findall(r"^(\w+) +rule (\d)", told, re.M) == [
        ("holds", "0"),
        ("BROKEN", "1"),
        ("holds", "2"),
    ]
    assert "told 1" in told and "Next: mend 1" in told and "told 0" not in told


def test_what_fast_leaves_out_is_named(monkeypatch, capsys):
    monkeypatch.setattr(checking, "RULES", rules(0, 0, 1))
    checking.check(fast=True)
    assert "not looked at  rule 2 (--fast)" in capsys.readouterr().out


def test_every_generated_file_is_made_by_the_command_or_named_with_what_makes_it():
    known = {page.path for page in PAGES} | set(ELSEWHERE)
    marked = {
        str(path.relative_to(ROOT))
        for path in DOCS.rglob("*.md")
        if re.search(r"^Generated by", path.read_text("utf-8"), re.M)
    }
    assert marked <= known
    assert all((ROOT / name).exists() for name in known)


def test_a_stale_page_is_shown_and_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "one.md").write_text("old\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PAGES", (Page("one.md", lambda: "new\n"),))
    with pytest.raises(SystemExit):
        module.pages(check=True)
    told = capsys.readouterr().out
    assert "-old" in told and "+new" in told and "one.md: stale" in told
    assert (tmp_path / "one.md").read_text() == "old\n"
    module.pages()
    module.pages(check=True)
    assert "one.md: up to date" in capsys.readouterr().out
