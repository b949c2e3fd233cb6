"""All figures: each from fresh processes, several runs, the median."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from redial.deploy import apply, connect_odbc
from redial.server import Server, with_database
from redial_lab.bench import peers
from redial_lab.bench.local import activation_off, audit, call_text
from redial_lab.bench.memory import peak_mb

SECONDS = 2.0
"""Length of one throughput run over ODBC."""

DATABASE = "bench"

_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Bytecode is kept, as Python does by itself: a start is not the time of compiling the sources."""


@dataclass(frozen=True)
class Figure:
    """One stable name."""

    name: str
    unit: str
    aim: str
    """What the project set itself (a text; '' for none)."""
    measure: Callable[[], float]
    peer: str = ""
    """What does the same job without the broker, a name of ``peers.PEERS``."""


def measure_all(runs: int, tell: Callable[[str], None]) -> dict[str, float]:
    """Every quick figure by name; ``tell`` hears which is being measured. Raises RuntimeError.

    Those with a peer find it under their name and ``.peer``.
    """
    found = {}
    for figure in FIGURES:
        tell(figure.name)
        found[figure.name] = median(figure.measure() for _ in range(runs))
        if figure.peer:
            found[f"{figure.name}.peer"] = median(peers.measure(figure.peer) for _ in range(runs))
    return found


def measure_long(group: str, tell: Callable[[str], None]) -> dict[str, float]:
    """The figures of one long load, in a fresh process; ``tell`` hears its progress.

    Raises RuntimeError when the load fails.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", LONG[group]],
        stdout=subprocess.PIPE,
        text=True,
        env=_ENVIRONMENT,
    )
    assert process.stdout is not None
    found: dict[str, float] = {}
    for line in process.stdout:
        name, _, value = line.strip().partition(" ")
        if name.startswith(f"{group}."):
            found[name] = float(value.replace(",", ""))
        else:
            tell(line.rstrip())
    if process.wait():
        raise RuntimeError(f"python -m {LONG[group]} failed; its words are above")
    return found


def _local(name: str) -> Callable[[], float]:
    return lambda: float(_python("redial_lab.bench.local", name))


def _python(module: str, *arguments: str, stdin: str = "") -> str:
    """Standard output of a module run in a fresh process. Raises RuntimeError with its words."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=_ENVIRONMENT,
        timeout=300,
        check=False,
    )
    if done.returncode:
        words = done.stderr.strip().splitlines()
        raise RuntimeError(f"{module} {' '.join(arguments)}: {words[-1] if words else 'failed'}")
    return done.stdout


@contextmanager
def _served(module: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A serving process, its ODBC line, and the seconds until it was ready."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_ENVIRONMENT,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - started
        if not line.startswith("ODBC: "):
            raise RuntimeError(f"{module} did not start: run python -m {module} to see why")
        yield process, line[6:].strip(), seconds
    finally:
        process.terminate()
        process.wait(10)


def _broker() -> AbstractContextManager[tuple[subprocess.Popen[str], str, float]]:
    return _served("redial.cli.broker", "--port", "0")


def start_ms() -> float:
    """From nothing to a broker that accepts connections, interpreter included."""
    with _broker() as (_, _, seconds):
        return seconds * 1000


def rest_mb() -> float:
    """Resident memory of a broker nobody has used."""
    with _broker() as (process, _, _):
        status = Path(f"/proc/{process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def large_peak() -> float:
    """How many times a value of 50 MB the broker's memory grows by while it takes and gives it."""
    value = bytes(50 * 1024 * 1024)
    with _broker() as (process, odbc, _):
        connection = Server("", odbc).connect()
        connection.execute("CREATE TABLE #large (B varbinary(max));")
        before = peak_mb(process.pid)
        connection.execute("INSERT INTO #large (B) VALUES (?);", value)
        if connection.execute("SELECT B FROM #large;").fetchval() != value:
            raise RuntimeError("the broker gave another value than it took")
        connection.close()
        return (peak_mb(process.pid) - before) * 1024 * 1024 / len(value)


def send_odbc(connections: int) -> float:
    """usp_Send calls per second over ODBC and TLS, activation off."""
    config = audit()
    with _broker() as (_, odbc, _):
        master = Server("", odbc).connect()
        master.execute(f"CREATE DATABASE {DATABASE};")
        master.close()
        target = with_database(odbc, DATABASE)
        apply(config, connect_odbc(target))
        connection = Server("", target).connect()
        connection.execute(activation_off(config))
        connection.close()
        return _rate(target, connections)


def null_server() -> float:
    """The same calls against a server that does nothing."""
    with _served("redial_lab.bench.null") as (_, odbc, _):
        return _rate(odbc, 1)


def _rate(odbc: str, connections: int) -> float:
    """Calls per second of that many connections; more than one are shared by two processes."""
    processes = 1 if connections == 1 else 2
    job = {
        "odbc": odbc,
        "call": call_text(audit()),
        "connections": connections // processes,
        "seconds": SECONDS,
    }
    clients = []
    for _ in range(processes):
        client = subprocess.Popen(
            [sys.executable, "-m", "redial_lab.bench.client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert client.stdin is not None
        client.stdin.write(json.dumps(job))
        client.stdin.close()
        clients.append(client)
    outputs = []
    for client in clients:
        assert client.stdout is not None
        outputs.append(client.stdout.read())
        if client.wait():
            raise RuntimeError("a bench client failed; its words are above")
    return sum(float(output) for output in outputs)


FIGURES = (
    Figure("broker.start_ms", "ms", "< 300", start_ms, "interpreter_start_ms"),
    Figure("broker.rest_mb", "MB", "", rest_mb, "interpreter_rest_mb"),
    Figure("broker.large_peak_times", "", "< 6", large_peak),
    Figure("database.fresh_ms", "ms", "< 1", _local("database.fresh_ms"), "sqlite_fresh_ms"),
    Figure("database.restore_ms", "ms", "< 1", _local("database.restore_ms"), "sqlite_restore_ms"),
    Figure(
        "send.in_process_per_s",
        "1/s",
        "> 10,000",
        _local("send.in_process_per_s"),
        "sqlite_inserts_per_s",
    ),
    Figure("protocol.null_server_odbc_1_per_s", "1/s", "", null_server),
    Figure("send.odbc_1_per_s", "1/s", "> half the null server", lambda: send_odbc(1)),
    Figure("send.odbc_8_per_s", "1/s", "", lambda: send_odbc(8)),
    Figure("land.per_s", "1/s", "", _local("land.per_s"), "sqlite_moves_per_s"),
    Figure(
        "explore.transitions_per_s",
        "1/s",
        "> 20,000",
        _local("explore.transitions_per_s"),
        "rewinds_per_s",
    ),
)

LONG = {
    "endpoints": "redial_lab.bench.endpoints",
    "day": "redial_lab.bench.day",
    "spikes": "redial_lab.bench.spikes",
    "explore": "redial_lab.bench.explore",
    "reads": "redial_lab.bench.reads",
    "spark": "redial_lab.bench.spark",
    "cost": "redial_lab.bench.cost",
}
"""Loads that take minutes (``cost``: seconds), by the name ``invoke bench`` takes."""
