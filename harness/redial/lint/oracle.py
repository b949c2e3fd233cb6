"""Microsoft's own parser (tools/tsql_oracle.py), in a process of its own; it may be absent."""

from __future__ import annotations

import atexit
import json
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from redial.paths import ROOT

TOOL = ROOT / "tools" / "tsql_oracle.py"
GRAMMAR = "130"
"""Compatibility level whose grammar is asked: the oldest server the package is for."""

_CALLED = re.compile(r"\b\w+(?=\s*\()")


class OracleAbsent(Exception):
    """It could not be run; the text is its own reason, in one line."""


def findings(paths: list[Path]) -> list[str]:
    """Its findings on those files, ``file:line:column number text``. Raises OracleAbsent."""
    status, text = ask(["--version", GRAMMAR, *map(str, paths)])
    return [line for line in text.splitlines() if line] if status else []


def normal_form(sql: str, *, partial: bool = False) -> str:
    """How it prints a script: without comments, in its own layout. Raises OracleAbsent.

    Names before a parenthesis are in lower case: built-in functions are found in any. partial: a
    batch it cannot read (newer T-SQL) becomes a line that says so; otherwise ValueError is raised.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.sql"
        path.write_text(sql, encoding="utf-8")
        status, text = ask(["--normalize", str(path)])
    if status and not partial:
        raise ValueError(text[-500:])
    text = re.sub(rf"^{re.escape(str(path))}:.*$", "(not read)", text, flags=re.M)
    return _CALLED.sub(lambda word: word[0].lower(), text)


def ask(arguments: list[str], directory: Path | None = None) -> tuple[int, str]:
    """Exit status (0 clean, 1 findings) and what it printed. Raises OracleAbsent.

    directory: what names of files are relative to. It is started once and then asked again: its
    start takes longer than most answers.
    """
    kind = "--model" in arguments
    if kind not in _SERVED:
        _SERVED[kind] = _Served(kind)
    try:
        return _SERVED[kind].answer(arguments, directory or Path.cwd())
    except OracleAbsent:
        del _SERVED[kind]
        raise


class _Served:
    """One process of the tool, which ends with this one. model: it can judge whole schemas."""

    def __init__(self, model: bool) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it is the process's own
        command = [sys.executable, str(TOOL), "--serve", *(["--model"] if model else [])]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
        )
        assert process.stdin is not None and process.stdout is not None
        self._process, self._asked, self._answered = process, process.stdin, process.stdout
        atexit.register(self._end)

    def answer(self, arguments: list[str], directory: Path) -> tuple[int, str]:
        """What a run with these arguments ends with and prints."""
        try:
            print(json.dumps([str(directory), arguments]), file=self._asked, flush=True)
            line = self._answered.readline()
        except OSError:
            line = ""
        if not line:
            status = self._process.wait()
            self._said.seek(0)
            said = [line for line in self._said.read().splitlines() if line.strip()]
            raise OracleAbsent(said[-1] if said else f"exit status {status}")
        status, text = json.loads(line)
        return status, text

    def _end(self) -> None:
        """It leaves when nobody can ask any more."""
        with suppress(OSError):
            self._asked.close()
        self._process.wait(10)


_SERVED: dict[bool, _Served] = {}
