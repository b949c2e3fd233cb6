"""``invoke test``: the suite."""

from __future__ import annotations

import os
import subprocess
import sys

from redial.cli.errors import UserError, command
from redial.paths import ROOT
from redial_lab.commands import clone
from redial_lab.commands.near import near as run_near


@command
def test(
    select: str | None = None,
    full: bool = False,
    near: bool = False,
    since: str = "",
    repeat: int = 1,
) -> int:
    """Run pytest on all processors; its exit status is ours.

    select: pytest's -k. full: every variant of the families that the suite samples, and searches
    to their end (it takes far longer); see ``tests/conftest.py``. The ten slowest tests are told;
    what each took, in seconds, is in var/tests.xml. near, since, repeat: see ``near``. Raises UserError.
    """
    root = clone("redial test")
    if near:
        if full or select:
            raise UserError("--near", "chooses the tests itself", "leave --full and --select out")
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
    return subprocess.run(arguments, cwd=ROOT, env=environment, check=False).returncode
