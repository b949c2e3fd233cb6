"""The console command ``redial``."""

from __future__ import annotations

import sys

from invoke.collection import Collection
from invoke.exceptions import Exit, ParseError
from invoke.program import Program

from redial.cli import commands, jobs, mistyped
from redial.cli.listing import listed, text_of
from redial.cli.pipes import forgive, lost
from redial.version import VERSION

namespace = Collection.from_module(commands)
"""Every command; ``tasks.py`` of a clone or a project folder gives it to ``invoke``."""

HELP = "--help"


class _Redial(Program):
    """Invoke's program with our list of commands, and errors that say what was meant.

    A wrong argument of a job has a status of its own, which is no verdict.
    """

    def normalize_argv(self, argv: list[str] | None) -> None:
        """Of ``init --help`` invoke would make a folder of that name."""
        super().normalize_argv(argv)
        command, *words = [*self.argv[1:], ""]
        if HELP in words and command in namespace.task_names:
            self.argv = [self.argv[0], HELP, command]

    def parse_core(self, argv: list[str] | None) -> None:
        try:
            super().parse_core(argv)
        except (ParseError, ValueError) as error:
            raise self._stopped(error) from error

    def parse_tasks(self) -> None:
        try:
            super().parse_tasks()
        except (ParseError, ValueError) as error:
            raise self._stopped(error) from error

    def parse_cleanup(self) -> None:
        if self.args.list.value:  # of a part of the list: there is only one
            self.args.list.set_value(True, cast=False)
        try:
            super().parse_cleanup()
        except ParseError as error:
            raise self._stopped(error) from error

    def _stopped(self, error: ParseError | ValueError) -> Exit:
        """Raises what is no error of a command line."""
        if isinstance(error, ParseError):
            said = mistyped.explained(error, namespace.task_names)
            name = getattr(error.context, "name", None)
        else:
            given = mistyped.no_number(error, self.argv[1:])
            if given is None:
                raise error
            said, name = given, self.argv[1]
        return Exit(said, code=jobs.WRONG_ARGUMENT if name in jobs.NAMES else 1)

    def print_help(self) -> None:
        print(listed(namespace), end="")

    def list_flat(self) -> None:
        self.print_help()

    def print_task_help(self, name: str) -> None:
        context = self.parser.contexts[name]
        needed = [one for one in context.positional_args if one.value is None]
        positional = "".join(f" {one.name.upper()}" for one in needed)
        options = context.help_tuples()
        print(f"Usage: redial {name}{positional}{' [options]' if options else ''}\n")
        print(f"{text_of(namespace, name)}\n")
        if options:
            print("Options:\n")
            self.print_columns(options)


program = _Redial(name="Redial", binary="redial", namespace=namespace, version=VERSION)


def main() -> None:
    """Run the command of the command line, and end the process with its status."""
    forgive()
    try:
        program.run()
    except SystemExit:
        _written()
        raise
    _written()


def _written() -> None:
    """Raises SystemExit where the output is not whole: no status would say what stands there."""
    if why := lost():
        print(f"standard output: {why}\n  Next: make room, then run it again", file=sys.stderr)
        raise SystemExit(1)
