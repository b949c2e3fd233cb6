"""What does the same job without the broker, measured in the same run.

A figure alone says little on a shared machine. Each peer is the plainest thing that leaves the same
result behind; none of them has locks, conversations or a log of who sent what, so none is an
alternative: they show what the machine could do at best.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b

from redial_lab.bench.client import BODY

COUNT = 20_000
LIBRARIES = "asyncio, ssl, lxml.etree, sortedcontainers, cryptography.x509"
"""What a broker imports besides its own code."""


def measure(name: str) -> float:
    """One peer's figure. KeyError for a name that is not in ``PEERS``."""
    return PEERS[name][1]()


def _bare(then: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", f"import {LIBRARIES}; {then}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def interpreter_start_ms() -> float:
    """An interpreter that loads the same libraries."""
    started = time.perf_counter()
    _bare("")
    return (time.perf_counter() - started) * 1000


def interpreter_rest_mb() -> float:
    """Resident memory of an interpreter that has loaded the same libraries."""
    return (
        int(_bare("print([l for l in open('/proc/self/status') if 'VmRSS' in l][0].split()[1])"))
        / 1024
    )


def sqlite_fresh_ms() -> float:
    """A database in memory with two tables."""
    started = time.perf_counter()
    for _ in range(50):
        _database().close()
    return (time.perf_counter() - started) / 50 * 1000


def sqlite_restore_ms() -> float:
    """Ten messages sent, then taken back with their transaction."""
    base = _database()
    took = []
    for _ in range(50):
        base.execute("BEGIN")
        for number in range(10):
            _send(base, number)
        started = time.perf_counter()
        base.execute("ROLLBACK")
        took.append(time.perf_counter() - started)
    return sorted(took)[25] * 1000


def sqlite_inserts_per_s() -> float:
    """A transaction per message: a counter is raised, a row with the same body inserted."""
    base = _database()
    started = time.perf_counter()
    for number in range(COUNT):
        base.execute("BEGIN")
        _send(base, number)
        base.execute("COMMIT")
    return COUNT / (time.perf_counter() - started)


def sqlite_moves_per_s() -> float:
    """Rows moved from one table to another, 500 a transaction."""
    base = _database()
    for number in range(COUNT):
        _send(base, number)
    base.execute("CREATE TABLE landed (id INTEGER PRIMARY KEY, body BLOB)")
    started = time.perf_counter()
    for first in range(0, COUNT, 500):
        between = (first, first + 499)
        base.execute("BEGIN")
        base.execute("INSERT INTO landed SELECT * FROM queue WHERE id BETWEEN ? AND ?", between)
        base.execute("DELETE FROM queue WHERE id BETWEEN ? AND ?", between)
        base.execute("COMMIT")
    return COUNT / (time.perf_counter() - started)


def rewinds_per_s() -> float:
    """Ten changes of a dictionary, a hash of a hundred digests, and the changes taken back."""
    state = dict.fromkeys(range(100), b"12345678")
    started = time.perf_counter()
    for number in range(COUNT):
        undo = []
        for key in range(10):
            undo.append((key, state[key]))
            state[key] = blake2b(b"%d" % (number + key), digest_size=8).digest()
        blake2b(b"".join(state.values()), digest_size=16).digest()
        for key, old in reversed(undo):
            state[key] = old
    return COUNT / (time.perf_counter() - started)


def _database() -> sqlite3.Connection:
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.execute("CREATE TABLE queue (id INTEGER PRIMARY KEY, body BLOB)")
    base.execute("CREATE TABLE dialog (id INTEGER PRIMARY KEY, sent INTEGER)")
    base.execute("INSERT INTO dialog VALUES (1, 0)")
    return base


def _send(base: sqlite3.Connection, number: int) -> None:
    base.execute("UPDATE dialog SET sent = sent + 1 WHERE id = 1")
    base.execute("INSERT INTO queue VALUES (?, ?)", (number, BODY))


PEERS: dict[str, tuple[str, Callable[[], float]]] = {
    "interpreter_start_ms": ("an interpreter with the same libraries", interpreter_start_ms),
    "interpreter_rest_mb": ("an interpreter with the same libraries", interpreter_rest_mb),
    "sqlite_fresh_ms": ("SQLite in memory, two tables", sqlite_fresh_ms),
    "sqlite_restore_ms": ("SQLite: ROLLBACK of ten messages", sqlite_restore_ms),
    "sqlite_inserts_per_s": ("SQLite: counter and row, a transaction each", sqlite_inserts_per_s),
    "sqlite_moves_per_s": ("SQLite: rows moved, 500 a transaction", sqlite_moves_per_s),
    "rewinds_per_s": ("ten changes, a hash, ten undone: plain Python", rewinds_per_s),
}
"""name -> (what it is, how it is measured)."""
