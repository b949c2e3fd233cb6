"""The console command ``redial``."""

from __future__ import annotations

from invoke.collection import Collection
from invoke.program import Program

from redial.cli import commands
from redial.version import VERSION

namespace = Collection.from_module(commands)
"""Every command; ``tasks.py`` of a clone or a project folder gives it to ``invoke``."""

program = Program(name="Redial", binary="redial", namespace=namespace, version=VERSION)


def main() -> None:
    """Run the command of the command line, and end the process with its status."""
    program.run()
