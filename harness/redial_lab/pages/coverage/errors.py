"""The errors the broker can raise: texts from the register, states from the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import redial_broker
from redial.tsql.errors import NOT_SUPPORTED
from redial_broker.engine.messages import MESSAGES

SOURCE = Path(redial_broker.__file__).parent
INFORMATION = 10
"""Messages up to this severity are status texts and information, not errors."""


def raised() -> Iterator[tuple[int, int | None]]:
    """(number, state) of every ``SqlError(number, ..)`` in the code; state None when computed."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "SqlError"
                and node.args
            ):
                continue
            number = node.args[0]
            if not (isinstance(number, ast.Constant) and isinstance(number.value, int)):
                continue
            state: int | None = 1
            for keyword in node.keywords:
                if keyword.arg == "state":
                    known = isinstance(keyword.value, ast.Constant)
                    state = keyword.value.value if known else None  # type: ignore[attr-defined]
            yield number.value, state


def states() -> dict[int, str]:
    """Number -> its states as text, for the numbers the code names."""
    found: dict[int, set[int | None]] = {}
    for number, state in raised():
        found.setdefault(number, set()).add(state)
    return {
        number: ", ".join(
            [str(s) for s in sorted(s for s in known if s is not None)]
            + ["by resource"] * (None in known)
        )
        for number, known in found.items()
    }


def table() -> list[tuple[int, int, str, str]]:
    """(number, severity, states, text) of every error, by number."""
    known = states()
    rows = [
        (number, severity, known.get(number, "1"), text)
        for number, (severity, text) in sorted(MESSAGES.items())
        if severity > INFORMATION
    ]
    return [
        *rows,
        (NOT_SUPPORTED, 16, "1", "The embedded broker does not support %s (line %d, column %d)."),
    ]


def information() -> list[tuple[int, str]]:
    """(number, text) of every status text and information message, by number."""
    return [
        (number, text)
        for number, (severity, text) in sorted(MESSAGES.items())
        if severity <= INFORMATION
    ]
