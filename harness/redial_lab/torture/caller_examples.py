"""The callers of docs/callers as they stand: each in a process of its own, one unit of work after
the other.

They take lines `ID TEXT` and answer `ok ID`, `failed ID NUMBER TEXT` or `unknown ID NUMBER TEXT`;
what they say becomes a journal here. A unit of work is given when the one before has been answered,
so it is known when each began.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from redial.config import Config
from redial.config.choices import Delivery
from redial.paths import DOCS
from redial_lab.torture.caller_journal import FAILED, OK, UNKNOWN, Entry, Journal, body_of

CALLERS = DOCS / "callers"
MODES = ("autocommit", "transaction", "batch")
UNIT = 3
"""Messages of a unit of work, where that is not each message by itself."""


@dataclass(frozen=True)
class Language:
    """An example."""

    name: str
    starts: Sequence[str]
    """The command line up to its arguments."""
    server: str
    """Its connection string."""


def python(odbc: str) -> Language:
    """docs/callers/send.py."""
    return Language("send.py", [sys.executable, str(CALLERS / "send.py")], odbc)


def java(command: str, jar: Path, jdbc: str) -> Language:
    """docs/callers/Send.java. command: Java's; jar: Microsoft's driver."""
    starts = [command, "-XX:TieredStopAtLevel=1", "-cp", str(jar), str(CALLERS / "Send.java")]
    return Language("Send.java", starts, jdbc)


def fits(config: Config) -> bool:
    """Whether the examples can send: they know the names of the shipped configurations."""
    first = f"//redial/{config.schema_name}/"
    return (
        config.services.initiator == f"{first}initiator"
        and config.message_types[0].name == f"{first}event"
    )


class Example:
    """One process and its journal. client: its number, which no other caller has."""

    def __init__(
        self, language: Language, config: Config, client: int, mode: str, seconds: float
    ) -> None:
        self.journal = Journal(client)
        self.language, self.mode, self._seconds = language, mode, seconds
        self._key = f"example {client}" if config.traits.named else None
        self._once = config.conversation.delivery == Delivery.EXACTLY_ONCE
        arguments = ["-", config.schema_name, self._key or "-", mode]
        self.process = subprocess.Popen(
            [*language.starts, *arguments, *(["once"] if self._once else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"REDIAL_SERVER": language.server},
        )
        self._thread = threading.Thread(target=self._talks, daemon=True)
        self._thread.start()

    def ends(self, patience: float) -> Journal:
        """What it was told, when it has done its work; a process that hangs is killed."""
        self._thread.join(self._seconds + patience)
        self.process.kill()
        self.process.wait()
        return self.journal

    # ------------------------------------------------------------------ talking
    def _talks(self) -> None:
        until, unit = time.monotonic() + self._seconds, 0
        asks, answers = self.process.stdin, self.process.stdout
        assert asks is not None and answers is not None
        while time.monotonic() < until:
            unit += 1
            if not self._unit(unit, asks, answers):
                self.journal.notes.append(
                    f"{self.language.name} went after unit {unit}: {self._last_words()}"
                )
                return
        asks.close()
        self.process.wait()
        self.journal.finished, self.journal.open_at_end = True, 0

    def _unit(self, unit: int, asks: IO[str], answers: IO[str]) -> bool:
        """Ask for one unit of work; False when the process is gone."""
        size = 1 if self.mode == "autocommit" else UNIT
        began, entries, lines = time.monotonic(), {}, []
        for number in range(size):
            name = (self.journal.client, unit, number)
            known = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.language.name} {name}"))
            entries[known] = Entry(
                name,
                self._key,
                began,
                self.language.name,
                self.mode,
                message_id=known if self._once else None,
            )
            lines.append(f"{known} {body_of(name).decode()}\n")
        self.journal.entries += entries.values()
        try:
            asks.write("".join(lines) + ("" if size == 1 else "\n"))
            asks.flush()
        except OSError:
            return False
        for _ in entries:
            words = answers.readline().split()
            if len(words) < 2:
                return False
            self._answered(entries[words[1].lower()], words)
        return True

    def _answered(self, entry: Entry, words: list[str]) -> None:
        entry.outcome = {"ok": OK, "failed": FAILED}.get(words[0], UNKNOWN)
        entry.answered = time.monotonic()
        if words[0] == "failed" and int(words[2]):
            self.journal.errors[int(words[2])] += 1

    def _last_words(self) -> str:
        assert self.process.stderr is not None
        self.process.kill()
        said = self.process.stderr.read().strip().splitlines()
        return said[-1] if said else "nothing on standard error"
