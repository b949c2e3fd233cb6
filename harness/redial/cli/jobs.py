"""``redial land`` and ``redial audit``: the Spark jobs, with the arguments of their own parsers.

Nothing of Spark is imported until one of them is called.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from invoke.context import Context
from invoke.tasks import Task, task

from redial.spark import land as landing
from redial.spark.audit_arguments import parser as audit_parser

WRONG_ARGUMENT = 2
"""As argparse's; invoke's own is 1, which says of an audit that something is lost."""


def _land(arguments: list[str]) -> int:
    return landing.answer(arguments)


def _audit(arguments: list[str]) -> int:
    from redial.spark.audit import answer

    return answer(arguments)


def _command(
    name: str, parser: argparse.ArgumentParser, run: Callable[[list[str]], int]
) -> Task[Any]:
    """A parser as a command: invoke lists and reads its options, and the parser judges them."""
    options = {one.dest: one for one in parser._actions if one.dest != "help"}

    def command(_: Context, **given: Any) -> None:
        arguments = []
        for dest, value in given.items():
            flag = options[dest].option_strings[-1]
            if value is True:
                arguments.append(flag)
            elif value is not None and value is not False:
                arguments.append(f"{flag}={value}")
        if status := run(arguments):
            raise SystemExit(status)

    kind = Parameter.POSITIONAL_OR_KEYWORD
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("_", kind)]
        + [Parameter(d, kind, default=False if o.nargs == 0 else None) for d, o in options.items()]
    )
    # The first paragraph is what --list shows.
    command.__doc__ = re.sub(r" (?=Exit status)", "\n\n", parser.description or "", count=1)
    help_ = {dest: one.help for dest, one in options.items()}
    # No short forms: the parsers have none, and -h is help.
    made: Task[Any] = task(name=name, help=help_, positional=[], auto_shortflags=False)(command)
    return made


land = _command("land", landing._parser(), _land)
audit = _command("audit", audit_parser(), _audit)
NAMES = frozenset({land.name, audit.name})
