"""Microsoft's T-SQL parser for tests: its wheels are fetched once; where they can't be had, why is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redial.paths import ROOT
from tests.waiting import HANGS

COMMAND = [sys.executable, str(ROOT / "tools" / "tsql_oracle.py")]
FETCH = 240
"""Seconds for the download; after that the test is skipped."""


def fetched() -> None:
    """Fetch the wheels where they are not here yet. Skips the test where they can't be had."""
    try:
        done = subprocess.run(
            [*COMMAND, "--bootstrap-only"],
            capture_output=True,
            text=True,
            timeout=FETCH,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"the oracle's wheels cannot be had: {error}")
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-300:]
        pytest.skip(f"the oracle's wheels cannot be had: {said}")


def judged(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """What it says of scripts."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
        cwd=folder,
    )
