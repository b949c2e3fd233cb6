"""``invoke test --near``: the tests of what has changed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from redial.cli.errors import UserError
from redial_lab.git import commit, git
from redial_lab.near import Near, Suite

PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal")
DIFF = ("diff", "--no-color", "--no-ext-diff")
NOTHING = 5
"""pytest's status where it has run no test."""
_NEW = re.compile(r"^\+(?:async )?def (test_\w+)", re.MULTILINE)


def near(root: Path, since: str, repeat: int) -> int:
    """Run the tests near each file that has changed; 1 where a file has none, else pytest's status.

    root: of the clone. since: a commit; empty: where this branch has left main. repeat: how often new tests
    run, each time in processes of their own. Raises UserError.
    """
    if repeat < 1:
        raise UserError(f"--repeat {repeat}", "is no number of times", "use 1 or more")
    begin = _begin(root, since)
    changed = _lines(root, *DIFF, "--name-only", "--no-renames", begin)
    added = _lines(root, "ls-files", "--others", "--exclude-standard")
    new = {*added, *_lines(root, *DIFF, "--name-only", "--no-renames", "--diff-filter=A", begin)}
    if not changed + added:
        raise UserError(
            "redial test --near",
            f"nothing has changed since {begin[:12]}",
            "name an older commit: --since HEAD~1",
        )
    found = Suite(root).near(sorted({*changed, *added}))
    print(f"near: {len(found)} files have changed since {begin[:12]}")
    for one in found:
        print(f"  {one.changed}: {_said(one)}", flush=True)
    statuses = [_run(root, arguments) for arguments in _runs(found)]
    if not any(statuses) and repeat > 1:
        statuses.append(_again(root, _new(root, begin, added), repeat))
    without = [
        one.changed for one in found if not one.tests or (not one.own and one.changed in new)
    ]
    if without:
        print(f"no test knows: {', '.join(without)}\n  Next: write one, or run redial test")
    return next(filter(None, statuses), 1 if without else 0)


def _said(one: Near) -> str:
    left = f", and {one.left} more are left out" if one.left else ""
    only = f" -k {one.only}" if one.only else ""
    folder = "" if one.own else " (of its folder: none knows it)"
    return f"{' '.join(one.tests)}{only}{left}{folder}" if one.tests else "NO TEST"


def _runs(found: Sequence[Near]) -> list[list[str]]:
    """Arguments of pytest: all files at once, then what is chosen within one."""
    files = [*dict.fromkeys(test for one in found if not one.only for test in one.tests)]
    chosen = {one.tests: [] for one in found if one.only}  # type: dict[tuple[str, ...], list[str]]
    for one in found:
        if one.only:
            chosen[one.tests].append(one.only)
    within = [[*tests, "-k", " or ".join(only)] for tests, only in chosen.items()]
    return ([files] if files else []) + within


def _run(root: Path, arguments: Sequence[str]) -> int:
    return subprocess.run([*PYTEST, *arguments], cwd=root, check=False).returncode


def _again(root: Path, tests: Sequence[str], repeat: int) -> int:
    """Run them so often: 0, or the status of the first that is red."""
    if not tests:
        print("--repeat: no test is new")
        return 0
    for number in range(2, repeat + 1):
        print(f"new tests, {number} of {repeat}: {' '.join(tests)}", flush=True)
        if status := _run(root, tests):
            return status
    return 0


def _new(root: Path, begin: str, added: Sequence[str]) -> list[str]:
    """Test functions that were added, as pytest names them."""
    found = []
    for path in _lines(root, *DIFF, "--name-only", "--diff-filter=d", begin, "--", "tests"):
        if Path(path).name.startswith("test_"):
            text = git(root, *DIFF, "-U0", begin, "--", path)
            found += [f"{path}::{name}" for name in _NEW.findall(text)]
    return found + [one for one in added if re.fullmatch(r"tests/(?:.*/)?test_\w+\.py", one)]


def _begin(root: Path, since: str) -> str:
    """Of which the changes are told. Raises UserError."""
    if since:
        try:
            return commit(root, since)
        except RuntimeError:
            raise UserError(f"--since {since}", "is no commit here", "git log names them") from None
    for branch in ("main", "origin/main"):
        try:
            return git(root, "merge-base", branch, "HEAD").strip()
        except RuntimeError:
            continue
    raise UserError(
        "redial test --near", "there is no branch main here", "name a commit: --since REF"
    )


def _lines(root: Path, *arguments: str) -> list[str]:
    return git(root, "-c", "core.quotePath=off", *arguments).splitlines()
