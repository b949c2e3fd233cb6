"""The README names commands that exist, and CI runs its test command."""

from __future__ import annotations

import re

import tasks
from redial.paths import ROOT
from redial.version import VERSION

README = (ROOT / "README.md").read_text(encoding="utf-8")
OURS = {name: tasks.namespace[name] for name in tasks.namespace.task_names}


def commands() -> list[tuple[str, list[str]]]:
    """Each task the README names, with its long options."""
    found = re.findall(r"(?:invoke|(?:\./)?redial) ([a-z-]+)((?: \[?--[a-z-]+[^`\n|]*)?)", README)
    return [(name, re.findall(r"--([a-z-]+)", options)) for name, options in found]


def test_every_command_of_the_readme_is_a_task_with_those_options():
    assert len(commands()) > 8
    for name, options in commands():
        task = OURS[name]
        known = {flag for argument in task.get_arguments() for flag in argument.names}
        known |= {argument.replace("_", "-") for argument in known}
        for option in options:
            assert option.removeprefix("no-") in known, f"{name} --{option}"


def test_every_task_is_in_the_readme():
    assert set(OURS) <= {name for name, _ in commands()}


def test_ci_runs_exactly_the_readmes_test_command():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()
    assert lines[-1] == "exec ./redial test"
    assert "\n./redial test " in README


def test_locked_versions_are_exact():
    for name in ("requirements-lock.txt", "requirements-lock-spark.txt"):
        lines = [x for x in (ROOT / name).read_text().splitlines() if not x.startswith("#")]
        exact = re.compile(r"[\w.-]+==[\w.]+(; .+)?")  # behind ; where it can be installed at all
        assert lines and all(exact.fullmatch(line) for line in lines)


def test_the_lock_holds_every_package_the_project_asks_for():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    asked = set(re.findall(r'^    "([\w-]+)[><=]', project, re.M))
    locked = "".join(
        (ROOT / name).read_text()
        for name in ("requirements-lock.txt", "requirements-lock-spark.txt")
    ).lower()
    for package in asked:
        assert f"\n{package.lower()}==" in locked, f"{package}: lock it (pip freeze)"


def test_the_changelog_begins_with_the_version_that_is_being_made():
    first = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert first and first[1] == VERSION


def test_the_version_is_written_once():
    written = [
        str(path.relative_to(ROOT))
        for path in [ROOT / "pyproject.toml", *(ROOT / "harness").rglob("*.py")]
        if re.search(rf'"{re.escape(VERSION)}"', path.read_text("utf-8"))
    ]
    assert written == ["harness/redial/version.py"]
