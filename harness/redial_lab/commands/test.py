"""``invoke test``: the suite."""

from __future__ import annotations

import os
import subprocess
import sys

from redial.cli.errors import command
from redial.paths import ROOT
from redial_lab.commands import clone


@command
def test(select: str | None = None, full: bool = False) -> int:
    """Run pytest on all processors; its exit status is ours.

    select: pytest's -k. full: every variant of the families that the suite samples, and searches
    to their end (it takes far longer); see ``tests/conftest.py``. The ten slowest tests are told;
    what each took, in seconds, is in var/tests.xml.
    """
    clone("redial test")
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
