"""The console command ``redial``."""

from __future__ import annotations

from invoke.collection import Collection
from invoke.exceptions import Exit, ParseError
from invoke.program import Program

from redial.cli import commands, jobs
from redial.version import VERSION

namespace = Collection.from_module(commands)
"""Every command; ``tasks.py`` of a clone or a project folder gives it to ``invoke``."""


class _Redial(Program):
    """Invoke's program, with a status for a wrong argument of a job that is no verdict."""

    def parse_tasks(self) -> None:
        try:
            super().parse_tasks()
        except ParseError as error:
            name = getattr(error.context, "name", None)
            if name not in jobs.NAMES:
                raise
            text = f"{error}\n  Next: redial {name} --help"
            raise Exit(text, code=jobs.WRONG_ARGUMENT) from None


program = _Redial(name="Redial", binary="redial", namespace=namespace, version=VERSION)


def main() -> None:
    """Run the command of the command line, and end the process with its status."""
    program.run()
