"""The one error a deployment raises."""

from __future__ import annotations

from redial.odbc import server_message

__all__ = ["DeployError", "server_message"]


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
