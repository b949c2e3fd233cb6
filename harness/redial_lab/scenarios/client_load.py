"""The demo's story: many callers, one-way audit events, dialogs recycled under way."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TypedDict

from redial.config import Config
from redial.render.quoting import literal, quote_name
from redial.server import Server
from redial_lab.scenarios.sender import ClientCount, Job

SAMPLE_SECONDS = 0.25
REPORT = Callable[[int, int], None]
"""Called with messages sent and landed so far."""


class Entry(TypedDict):
    """A ClientCount as JSON has it: each pair is an array."""

    client: int
    sent: list[tuple[int, int]]
    unknown: list[int]
    errors: list[tuple[int, str]]
    total: int


class Line(TypedDict, total=False):
    """What a client process writes: one of the two. Empty: it has ended."""

    sent: int
    clients: list[Entry]


@dataclass(frozen=True)
class Load:
    """How much is sent, by whom, and how fast dialogs are replaced."""

    records: int
    """Flights sent."""
    clients: int = 8
    """Connections, spread over ``processes``."""
    processes: int = 2
    in_transaction: int = 5
    """See sender.Job."""
    timer_seconds: int = 5
    spread_seconds: int = 3
    retry_seconds: int = 1
    """timer_seconds, spread_seconds, retry_seconds: age of a dialog and its retry."""
    seconds: float = 0.0
    """Shortest time the sending is spread over."""
    quiet_seconds: float = 30.0
    """Longest wait for the last message to land and the last dialog to end."""


@dataclass(frozen=True)
class Sample:
    """One look at the run."""

    second: float
    sent: int
    landed: int
    states: dict[str, int]
    """Endpoints by side and state, as ``initiator CONVERSING``."""


@dataclass
class Run:
    """What happened."""

    counts: list[ClientCount] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    sending_seconds: float = 0.0
    seconds: float = 0.0
    """From the first client's start until all was quiet."""
    quiet: bool = False


def demo_config(config: Config, load: Load, strategy: str | None = None) -> Config:
    """The configuration with the demo's short timers; ``strategy`` replaces the timer strategy."""
    data = config.model_dump(by_alias=True)
    data["timer"] = {
        "after_seconds": load.timer_seconds,
        "spread_seconds": load.spread_seconds,
        "retry_seconds": load.retry_seconds,
    }
    data["target"]["receive_wait_ms"] = 200
    if strategy is not None:
        data["conversation"]["timer_strategy"] = strategy
        data["envelope"]["who"] = False  # the article's procedures know no envelope
    return Config.model_validate(data)


def call_text(config: Config) -> str:
    """The call of usp_Send; the body is its one parameter."""
    return (
        f"EXECUTE {quote_name(config.schema_name)}.[usp_Send] "
        f"@fromService = {literal(config.services.initiator)}, "
        f"@toService = {literal(config.services.target)}, "
        f"@onContract = {literal(config.contract.name)}, "
        f"@messageType = {literal(config.message_types[0].name)}, @messageBody = ?;"
    )


def tell(server: Server, config: Config, load: Load, report: REPORT | None = None) -> Run:
    """Send the load to a server that has ``config`` deployed, and wait until all is quiet.

    Raises RuntimeError when a client process fails to do its job.
    """
    run = Run()
    watch = Watch(server, config)
    started = time.monotonic()
    lines: queue.Queue[tuple[int, Line]] = queue.Queue()
    processes = [_start(server, config, load, n, lines) for n in range(load.processes)]
    sent = [0] * load.processes
    running = load.processes
    due = started
    while running:
        try:
            number, line = lines.get(timeout=max(0.0, due - time.monotonic()))
        except queue.Empty:
            due = time.monotonic() + SAMPLE_SECONDS
            _sample(run, watch, started, sum(sent), report, running=True)
            continue
        if "sent" in line:
            sent[number] = line["sent"]
        elif "clients" in line:
            run.counts += [_count(entry) for entry in line["clients"]]
            sent[number] = sum(c["total"] for c in line["clients"])
        else:
            running -= 1
    failed = [p.returncode for p in processes if p.wait() != 0]
    if failed or len(run.counts) != load.clients:
        raise RuntimeError(f"a client process ended with {failed} instead of its counts")
    run.sending_seconds = time.monotonic() - started
    run.quiet = _settle(run, watch, started, sum(sent), load.quiet_seconds, report)
    run.seconds = time.monotonic() - started
    return run


def _start(
    server: Server, config: Config, load: Load, number: int, lines: queue.Queue[tuple[int, Line]]
) -> subprocess.Popen[str]:
    """Start one client process; its lines go to the queue, an empty one at its end."""
    clients = list(range(number, load.clients, load.processes))
    job = Job(
        server.odbc,
        call_text(config),
        clients,
        load.clients,
        load.records,
        load.in_transaction,
        load.seconds,
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "redial_lab.scenarios.sender"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(job)) + "\n")
    process.stdin.close()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put((number, json.loads(line)))
        lines.put((number, {}))

    threading.Thread(target=read, daemon=True).start()
    return process


def _count(entry: Entry) -> ClientCount:
    """A client's count from its JSON."""
    return ClientCount(
        entry["client"],
        [(a, b) for a, b in entry["sent"]],
        entry["unknown"],
        [(n, text) for n, text in entry["errors"]],
        entry["total"],
    )


def _sample(
    run: Run,
    watch: Watch,
    started: float,
    sent: int,
    report: REPORT | None,
    running: bool = False,
) -> Sample:
    landed, states = watch.look()
    if running:
        sent = max(sent, landed)  # what has landed was sent, before its caller says so
    sample = Sample(time.monotonic() - started, sent, landed, states)
    run.samples.append(sample)
    if report is not None:
        report(sent, landed)
    return sample


def _settle(
    run: Run, watch: Watch, started: float, sent: int, seconds: float, report: REPORT | None
) -> bool:
    """Wait until queues are empty and every dialog has ended; False when time runs out first."""
    end = time.monotonic() + seconds
    while True:
        sample = _sample(run, watch, started, sent, report)
        still = {state for state, n in sample.states.items() if n} - {"target CLOSED"}
        if not still and watch.nothing_queued():
            return True
        if time.monotonic() > end:
            return False
        watch.server.wait(SAMPLE_SECONDS)


class Watch:
    """Looks at a running server without stopping it: what landed, and the endpoints' states."""

    def __init__(self, server: Server, config: Config) -> None:
        self.server = server
        self._connection = server.connect()
        schema = quote_name(config.schema_name)
        services = f"{literal(config.services.initiator)}, {literal(config.services.target)}"
        event_type = literal(config.message_types[0].name)
        self._mark = bytes(8)
        self._landed = 0
        # NOLOCK: a look must not wait for a reader's batch; a rowversion only grows, and what was
        # counted before it committed is counted once. The verdict counts again, exactly.
        self._landing = (
            "SELECT COUNT(*), MAX(l.RowVersion), "
            f"SUM(CASE WHEN l.MessageType = {event_type} THEN 1 ELSE 0 END) "
            f"FROM {schema}.[Landing] AS l WITH (NOLOCK) WHERE l.RowVersion > ?;"
        )
        self._states = (
            "SELECT ce.is_initiator, ce.state_desc, COUNT(*) "
            "FROM sys.conversation_endpoints AS ce WITH (NOLOCK) "
            "INNER JOIN sys.services AS s ON s.service_id = ce.service_id "
            f"WHERE s.name IN ({services}) GROUP BY ce.is_initiator, ce.state_desc;"
        )
        self._queued = [
            f"SELECT COUNT(*) FROM {schema}.{quote_name(name)} WITH (NOLOCK);"
            for name in (config.queues.initiator, config.queues.target)
        ] + ["SELECT COUNT(*) FROM sys.transmission_queue;"]

    def look(self) -> tuple[int, dict[str, int]]:
        """Messages landed so far, and endpoints by side and state."""
        execute = self._connection.execute
        rows, mark, events = execute(self._landing, self._mark).fetchone()
        if rows:
            self._mark, self._landed = mark, self._landed + events
        states = {
            f"{'initiator' if initiator else 'target'} {state}": count
            for initiator, state, count in execute(self._states).fetchall()
        }
        return self._landed, states

    def nothing_queued(self) -> bool:
        """Whether both queues and the transmission queue are empty."""
        return not any(self._connection.execute(sql).fetchone()[0] for sql in self._queued)
