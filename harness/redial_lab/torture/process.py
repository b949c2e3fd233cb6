"""A caller in a process of its own, over ODBC: ``python -m redial_lab.torture.process PLAN CLIENT``.

The connection string comes from standard input, for arguments show in process lists. The journal
goes to standard output, a line for each unit of work before it begins and after it is over; so it
survives the process.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from redial.config import Config
from redial_lab.torture.caller import Ask, Caller, Pause, Said
from redial_lab.torture.caller_journal import UNKNOWN, Entry, Journal, Name, Row
from redial_lab.torture.calls import Calls
from redial_lab.torture.plan import Plan

CANCELS = 0.02
"""Share of the batches that the caller cancels."""

NUMBER = re.compile(r"\((\d+)\) \(SQL")
CANCELLED, GONE = "HY008", ("08", "HYT")


class Connection:
    """One ODBC connection at a time; a batch is asked and answered, or cancelled."""

    def __init__(self, odbc: str, draw: Random) -> None:
        import pyodbc

        pyodbc.pooling = False
        self._odbc, self._draw, self._error = odbc, draw, pyodbc.Error
        self._connect = pyodbc.connect
        self._open: Any = None  # pyodbc's: it has no types

    def ask(self, sql: str) -> Said:
        """A batch and its answer, as far as there is one."""
        rows: list[Row] = []
        errors: tuple[int, ...] = ()
        gone = cancelled = False
        try:
            if self._open is None:
                self._open = self._connect(self._odbc, autocommit=True, timeout=10)
            self._run(sql, rows)
        except self._error as error:
            state, text = str(error.args[0]), str(error.args[-1])
            errors = tuple(int(number) for number in NUMBER.findall(text) if int(number))
            cancelled = state == CANCELLED
            gone = (
                state.startswith(GONE)
                or 596 in errors
                or self._open is None
                or (not errors and not cancelled)
            )
            if gone:
                errors = tuple(number for number in errors if number == 596)  # the rest: sockets'
                self.leave()
        now = time.monotonic()
        return Said(rows, errors, gone, cancelled, now, now)

    def leave(self) -> None:
        """Close it, whatever is open."""
        connection, self._open = self._open, None
        if connection is not None:
            try:
                connection.close()
            except self._error:
                return  # the server has closed it before us

    def _run(self, sql: str, rows: list[Row]) -> None:
        cursor = self._open.cursor()
        canceller = None
        if self._draw.random() < CANCELS:
            canceller = threading.Timer(self._draw.random() * 0.02, cursor.cancel)
            canceller.start()
        try:
            cursor.execute(sql)
            while True:
                if cursor.description is not None:
                    rows += [tuple(row) for row in cursor.fetchall()]
                if not cursor.nextset():
                    break
        finally:
            if canceller is not None:
                canceller.cancel()
                canceller.join()  # a cursor must not be closed while it is cancelled
            cursor.close()


def line(**what: object) -> None:
    """One line of the journal, at once."""
    print(json.dumps(what), flush=True)


def save(entries: Sequence[Entry], over: bool) -> None:
    """A unit of work; before it is over, nobody knows what becomes of it."""
    line(
        entries=[
            asdict(entry) | ({} if over else {"outcome": UNKNOWN, "answered": None})
            for entry in entries
        ]
    )


def main(plan_file: str, number: str) -> None:
    """All units of work of one client."""
    plan = Plan.from_json(Path(plan_file).read_text(encoding="utf-8"))
    client = next(one for one in plan.clients if one.number == int(number))
    config = Config.model_validate(plan.config)
    caller = Caller(plan, client, Calls(config), saves=save)
    connection = Connection(sys.stdin.readline().strip(), Random(f"{plan.seed}/{number}/cancels"))
    caller.since = time.monotonic()
    work, answer = caller.work(), None
    while True:
        try:
            wish = work.send(answer)
        except StopIteration:
            break
        answer = None
        if isinstance(wish, Pause):
            time.sleep(wish.seconds)
        elif isinstance(wish, Ask):
            answer = connection.ask(wish.sql)
        else:
            connection.leave()
    connection.leave()
    journal = caller.journal
    line(errors=dict(journal.errors), notes=journal.notes, open_at_end=journal.open_at_end)


def read(client: int, text: str) -> Journal:
    """The journal a process has written; what it says last of a message counts."""
    found: dict[Name, Entry] = {}
    journal = Journal(client)
    for written in text.splitlines():
        try:
            data = json.loads(written)
        except ValueError:
            continue  # the process was killed while it wrote
        for entry in data.get("entries", ()):
            known = Entry(**{**entry, "name": tuple(entry["name"])})
            found[known.name] = known
        if "errors" in data:
            journal.errors.update({int(number): n for number, n in data["errors"].items()})
            journal.notes, journal.open_at_end = data["notes"], data["open_at_end"]
            journal.finished = True
    journal.entries = list(found.values())
    return journal


if __name__ == "__main__":
    main(*sys.argv[1:])
