"""The one list of commands: what a user types, by what it is for; what Redial's makers type, behind it."""

from __future__ import annotations

import inspect
import textwrap

from invoke.collection import Collection

GROUPS = {
    "Start": ("init", "render", "lint"),
    "Deploy": ("plan", "deploy", "verify", "history", "rollback", "uninstall"),
    "After changes by hand, and by other tools": ("drift", "adopt", "baseline", "repair"),
    "Operate": ("doctor", "top", "report", "trace", "deadletters", "metrics"),
    "Spark": ("land", "audit"),
    "Try it without SQL Server": ("broker", "demo", "scenario", "explore"),
    "Make Redial itself": (
        "bench",
        "check",
        "coverage",
        "matrix",
        "mutants",
        "pages",
        "probe",
        "test",
        "torture",
    ),
}
"""Each command in one group, in the order they are needed."""
OF_MAKERS = GROUPS["Make Redial itself"]
FOR_MAKERS = "For makers: "
"""Before the help of theirs, as ``invoke --list`` knows no groups."""
_COLUMNS, _INDENT = 99, 14
_FOOT = """\
redial COMMAND --help      says what its options are
redial --version           says which Redial this is
redial --print-completion-script bash      writes what completes commands in bash (or zsh, fish)
"""


def listed(commands: Collection) -> str:
    """Every command with one line, by group, ready to print."""
    lines = ["Usage: redial COMMAND [options]", ""]
    for title, names in GROUPS.items():
        lines.append(f"{title}:")
        for name in names:
            text = summary(commands, name)
            first, *more = textwrap.wrap(text, _COLUMNS - _INDENT)
            lines.append(f"  {name:<{_INDENT - 2}}{first}")
            lines += [" " * _INDENT + line for line in more]
        lines.append("")
    return "\n".join([*lines, _FOOT])


def summary(commands: Collection, name: str) -> str:
    """The first paragraph of a command's text, in one line."""
    return " ".join(text_of(commands, name).partition("\n\n")[0].split())


def text_of(commands: Collection, name: str) -> str:
    """What a command says of itself, without the words for makers."""
    text = inspect.getdoc(commands[name]) or ""
    own = text.removeprefix(FOR_MAKERS)
    return own if own == text else own[0].upper() + own[1:]
