"""``invoke test``: the suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from redial.cli.errors import UserError, command
from redial.paths import ROOT
from redial_lab.commands import clone
from redial_lab.commands.near import NOTHING, git
from redial_lab.commands.near import near as run_near

_PART = re.compile(r"([1-9]\d*)/([1-9]\d*)")


@command
def test(
    select: str | None = None,
    full: bool = False,
    near: bool = False,
    since: str = "",
    repeat: int = 1,
    part: str = "",
) -> int:
    """Run pytest on all processors; its exit status is ours.

    select: pytest's -k. full: every variant of the families that the suite samples, and searches
    to their end (it takes far longer); see ``tests/conftest.py``. The ten slowest tests are told;
    what each took, in seconds, is in var/tests.xml. near, since, repeat: see ``near``. part: K/N, of full,
    without what has passed on this commit before. Raises UserError.
    """
    root = clone("redial test")
    if near:
        if full or select or part:
            raise UserError(
                "--near", "chooses the tests itself", "leave --full, --part, --select out"
            )
        return run_near(root, since, repeat)
    if since or repeat != 1:
        raise UserError("--since, --repeat", "go with --near only", "add --near")
    arguments = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "auto",
        "--dist",
        "worksteal",
        "--durations=10",
        "--junitxml=var/tests.xml",
    ]
    arguments += ["-k", select] if select else []
    environment = os.environ | ({"REDIAL_FULL": "1"} if full else {})
    # What is compiled once is kept: the tests start hundreds of processes.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if part:
        found = _PART.fullmatch(part)
        if select or not full or found is None or int(found[1]) > int(found[2]):
            raise UserError(f"--part {part}", "is no part of --full", "use --full --part 1/3, say")
        return _part(root, part, arguments, environment)
    return subprocess.run(arguments, cwd=ROOT, env=environment, check=False).returncode


def _part(root: Path, part: str, arguments: list[str], environment: dict[str, str]) -> int:
    """Run a part, without what has passed on this commit: where nothing is left, 0."""
    commit = git(root, "rev-parse", "HEAD").strip()
    environment["REDIAL_PART"] = part
    done = 0
    if git(root, "status", "--porcelain"):
        print("files are not committed: all of the part runs, and nothing is kept")
    else:
        kept = root / "var" / "full" / f"{commit}.txt"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.touch()
        before = kept.with_suffix(".before")  # workers must all read the same
        before.write_bytes(kept.read_bytes())
        done = len(before.read_text("utf-8").splitlines())
        environment |= {"REDIAL_DONE": str(before), "REDIAL_KEEPS": str(kept)}
    print(f"part {part} of --full on {commit[:12]}; {done} tests of all parts have passed before")
    status = subprocess.run(arguments, cwd=root, env=environment, check=False).returncode
    return 0 if status == NOTHING and done else status
