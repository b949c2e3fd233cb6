"""``invoke test``: the suite."""

from __future__ import annotations

import subprocess
import sys

from harness.cli.errors import command
from harness.cli.server import ROOT


@command
def test(select: str | None = None) -> int:
    """Run pytest on all processors; its exit status is ours. ``select`` is pytest's -k."""
    arguments = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    arguments += ["-k", select] if select else []
    return subprocess.run(arguments, cwd=ROOT, check=False).returncode
