"""The one error a deployment raises."""

from __future__ import annotations

import re

_DRIVER_TAGS = re.compile(r"^\[\w{5}\]\s*(?:(?:\[[^\]]*\])*?\[SQL Server\]|(?:\[[^\]]*\])*)\s*")
_NUMBER = re.compile(r"\((\d+)\)\s*\(SQL\w+\)")


class DeployError(Exception):
    """A batch failed; nothing after it was sent.

    ``file`` and ``line`` say where the batch begins in the rendered file (pyodbc does not pass on
    the line the server names inside it), ``number`` and ``text`` are the server's.
    """

    def __init__(self, file: str, line: int, number: int | None, text: str) -> None:
        self.file = file
        self.line = line
        self.number = number
        self.text = text
        shown = f"Msg {number}: {text}" if number is not None else text
        super().__init__(f"{file}:{line}: {shown}")


def server_message(error: BaseException) -> tuple[int | None, str]:
    """Number and text of what the server said, out of a DB-API error's arguments.

    ODBC text reads ``[42000] [Vendor][Driver][SQL Server]text (number) (SQLExecDirectW)``, several
    of them joined by semicolons; the first is the cause, so its number is taken.
    """
    raw = str(error.args[-1]) if error.args else str(error)
    found = _NUMBER.search(raw)
    text = _DRIVER_TAGS.sub("", raw[: found.start()] if found else raw).strip()
    return (int(found.group(1)) if found else None), text
