#!/usr/bin/env python3
"""Arbitrary arguments for every function, conversion, procedure and option of the embedded broker.

    fuzz_arguments.py                                  20,000 statements of seed 1
    fuzz_arguments.py --inputs 200000 --seed 7 --from 60000

An answer is a result or an error of the server's. A defect is message 60999 or an exception; each is
printed once with its seed and number, the exit status is then 1. The same seed and number are the same
statement, so a long run may be done in portions.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from redial_broker.engine.clock import VirtualClock  # noqa: E402 - a tool runs from a bare clone
from redial_broker.engine.errors import SqlError  # noqa: E402
from redial_broker.instance.defects import INTERNAL_ERROR  # noqa: E402
from redial_broker.instance.instance import Instance  # noqa: E402
from redial_broker.instance.requests import Batch  # noqa: E402
from redial_broker.instance.session import Session  # noqa: E402
from tools.fuzzing.arguments import DECLARED, Statements  # noqa: E402

RUNS = 20_000
FRESH = 200
"""After so many inputs the instance is a new one: what they made does not pile up."""
STEPS = 400
"""Statements an input may run."""
SLOW_S = 10.0

SETUP = (
    "CREATE DATABASE lab",
    "USE lab",
    "CREATE TABLE dbo.t (id int IDENTITY PRIMARY KEY, n int NULL, s nvarchar(20) NULL)",
    "INSERT dbo.t (n, s) VALUES (1, N'a'), (2, N'b'), (NULL, NULL), (2, N'ä')",
    "CREATE TABLE dbo.types (a sql_variant, b xml, c varchar(max), d datetime2)",
    "INSERT dbo.types VALUES (1, '<a/>', 'x', '2024-02-29'), (NULL, NULL, NULL, NULL)",
    "CREATE PROCEDURE dbo.p @a int = 1, @b nvarchar(20) = NULL OUTPUT AS SELECT @a, @b",
    "CREATE FUNCTION dbo.f (@a int, @b int) RETURNS int AS BEGIN RETURN @a + @b END",
    "CREATE FUNCTION dbo.tf (@a int) RETURNS TABLE AS RETURN SELECT @a AS a",
    "CREATE SEQUENCE dbo.sq AS int",
    "CREATE QUEUE dbo.q",
    "CREATE SERVICE s ON QUEUE dbo.q ([DEFAULT])",
)


@dataclass(slots=True)
class Found:
    """What a run has seen."""

    inputs: int = 0
    results: int = 0
    """Inputs that ended without an error."""
    errors: Counter[int] = field(default_factory=Counter)
    defects: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Exception and where it was raised -> number and text of the first input that shows it."""
    slow: list[tuple[float, int]] = field(default_factory=list)


class Where(logging.Handler):
    """Keeps where the last defect was raised: the broker writes each into its log."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Called for what the broker logs."""
        if record.exc_info and record.exc_info[1] is not None:
            self.last = place(record.exc_info[1])


def place(error: BaseException) -> str:
    """An exception's type, text and the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "redial" in frame.filename] or list(frames)
    at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{at}: {type(error).__name__}: {str(error)[:200]}"


def prepared() -> tuple[Instance, Session]:
    """A new instance with something in it, and a session."""
    instance = Instance(clock=VirtualClock())
    session = instance.connect("master")
    for text in SETUP:
        session.execute(text).ok()
    return instance, session


def fuzz(seed: int, first: int, inputs: int) -> Found:
    """Run the statements of a seed from ``first`` on."""
    found, statements = Found(), Statements(seed)
    with listening() as where:
        _run(found, statements, where, range(first, first + inputs))
    return found


@contextmanager
def listening() -> Iterator[Where]:
    """The broker's log goes to a handler of ours instead of the screen."""
    log, where = logging.getLogger("redial_broker"), Where()
    log.addHandler(where)
    before, log.propagate = log.propagate, False
    try:
        yield where
    finally:
        log.propagate = before
        log.removeHandler(where)


def _run(found: Found, statements: Statements, where: Where, numbers: range) -> None:
    for number in numbers:
        if found.inputs % FRESH == 0:
            instance, session = prepared()
        found.inputs += 1
        text = statements[number]
        started = time.process_time()
        sink = session.sink
        sink.clear()
        before = len(instance.defects.found)
        try:
            session.submit(Batch(text))
            steps = 0
            while steps < STEPS and instance.pump(20):
                steps += 20
            session.attention()
            if session.transaction is not None:
                session.rollback()
        except SqlError:
            raise
        except Exception as error:
            _note(found, place(error), number, text)
            instance, session = prepared()
            continue
        spent = time.process_time() - started
        if spent > SLOW_S:
            found.slow.append((spent, number))
        errors = [message.number for message in sink.errors]
        found.errors.update(errors)
        found.results += not errors
        if INTERNAL_ERROR in errors or len(instance.defects.found) > before:
            _note(found, where.last, number, text)
            instance, session = prepared()
        elif session.id not in {one.id for one in instance.sessions.values()}:
            instance, session = prepared()


def _note(found: Found, said: str, number: int, text: str) -> None:
    at = said.split(": ", maxsplit=1)[0]
    if not any(known.startswith(f"{at}: ") for known in found.defects):
        found.defects[said] = number, text


def main() -> int:
    """Fuzz and print what was seen; 1 after a defect or an input that took too long."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--inputs", type=int, default=RUNS)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--from", type=int, default=0, dest="first")
    options.add_argument("--show", type=int, help="print the statement of this number and stop")
    asked = options.parse_args()
    if asked.show is not None:
        print(Statements(asked.seed)[asked.show])
        return 0
    found = fuzz(asked.seed, asked.first, asked.inputs)
    print(
        f"seed {asked.seed}, inputs {asked.first} to {asked.first + found.inputs - 1}: "
        f"{found.inputs:,}; {found.results:,} without an error, "
        f"{len(found.errors)} different errors; {len(found.defects)} defects, "
        f"{len(found.slow)} inputs above {SLOW_S:.0f} s"
    )
    for said, (number, text) in found.defects.items():
        print(
            f"\n{said}\n  --seed {asked.seed} --from {number} --inputs 1\n  {text[len(DECLARED) :]}"
        )
    for spent, number in found.slow:
        print(f"\n{spent:.1f} s: --seed {asked.seed} --from {number} --inputs 1")
    return 1 if found.defects or found.slow else 0


if __name__ == "__main__":
    sys.exit(main())
