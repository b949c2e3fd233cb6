"""Figures measured in process; ``python -m redial_lab.bench.local NAME`` prints one value."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

from redial.config import Config, load
from redial.deploy.apply import installation
from redial.paths import CONFIGS
from redial.render import render
from redial.render.quoting import literal, quote_name
from redial.tsql import split_batches
from redial_lab.bench.client import BODY

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.results import Collector
    from redial_broker.instance.session import Session

CALLS = 5_000
TRANSITIONS = 30_000
WARM_CALLS = 200


def audit() -> Config:
    """The shipped configuration."""
    return load(CONFIGS / "audit.toml")


def activation_off(config: Config) -> str:
    """A batch that leaves sent messages in the target's queue."""
    queue = f"{quote_name(config.schema_name)}.{quote_name(config.queues.target)}"
    return f"ALTER QUEUE {queue} WITH ACTIVATION (STATUS = OFF);"


def deployed(config: Config) -> tuple[Instance, Session]:
    """An instance on the virtual clock and a session in a database with ``config``."""
    from redial_broker.engine.clock import VirtualClock
    from redial_broker.instance.instance import Instance

    instance = Instance(clock=VirtualClock())
    session = instance.connect("master")
    _checked(session, "CREATE DATABASE bench;")
    session = instance.connect("bench")
    files = render(config)
    for name in installation(files):
        for batch in split_batches(files[name]):
            _checked(session, batch.sql)
    return instance, session


def _checked(session: Session, text: str) -> Collector:
    """Run a batch; RuntimeError when it fails."""
    collector: Collector = session.execute(text)
    for message in collector.messages:
        if message.severity > 10:
            raise RuntimeError(f"{message.number}: {message.text}")
    return collector


def send_in_process() -> float:
    """usp_Send calls per second on one session, activation off, no wire."""
    config = audit()
    instance, session = deployed(config)
    _checked(session, activation_off(config))
    call = _caller(instance, session, config)
    for _ in range(WARM_CALLS):
        call()
    started = time.perf_counter()
    for _ in range(CALLS):
        call()
    return CALLS / (time.perf_counter() - started)


def _caller(instance: Instance, session: Session, config: Config) -> Callable[[], None]:
    """One call of usp_Send as a remote procedure call."""
    from redial_broker.engine.types import nvarchar, sql_type
    from redial_broker.instance.requests import Rpc, RpcParam

    name = nvarchar(128)
    values = (
        config.services.initiator,
        config.services.target,
        config.contract.name,
        config.message_types[0].name,
    )
    params = [RpcParam("", name, value) for value in values]
    params.append(RpcParam("", sql_type("varbinary", -1), BODY))
    procedure = f"{quote_name(config.schema_name)}.[usp_Send]"

    def call() -> None:
        session.sink.clear()
        session.submit(Rpc(procedure, params))
        instance.run()
        if session.sink.statuses != [0]:
            raise RuntimeError(f"usp_Send failed: {session.sink.messages}")

    return call


def land() -> float:
    """Messages landed per second by the target's activation, from a full queue, no wire."""
    config = audit()
    instance, session = deployed(config)
    _checked(session, activation_off(config))
    call = _caller(instance, session, config)
    for _ in range(CALLS):
        call()
    queue = f"{quote_name(config.schema_name)}.{quote_name(config.queues.target)}"
    table = f"{quote_name(config.schema_name)}.[Landing]"
    started = time.perf_counter()
    _checked(session, f"ALTER QUEUE {queue} WITH ACTIVATION (STATUS = ON);")
    instance.run()
    seconds = time.perf_counter() - started
    count = _checked(session, f"SELECT COUNT(*) FROM {table};").result_sets[0].rows[0][0]
    if count != CALLS:
        raise RuntimeError(f"{count} of {CALLS} messages landed")
    return CALLS / seconds


def fresh_database() -> float:
    """Milliseconds of one CREATE DATABASE."""
    from redial_broker.engine.clock import VirtualClock
    from redial_broker.instance.instance import Instance

    session = Instance(clock=VirtualClock()).connect("master")
    _checked(session, "CREATE DATABASE warm;")
    count = 50
    started = time.perf_counter()
    for number in range(count):
        _checked(session, f"CREATE DATABASE fresh_{number};")
    return (time.perf_counter() - started) / count * 1000


def restore() -> float:
    """Milliseconds to bring a deployed database back after ten messages were sent and landed."""
    config = audit()
    instance, session = deployed(config)
    call = _caller(instance, session, config)
    took = []
    with instance.snapshot() as snapshot:
        for _ in range(50):
            for _ in range(10):
                call()
            started = time.perf_counter()
            snapshot.restore()
            took.append(time.perf_counter() - started)
    return median(took) * 1000


def explore() -> float:
    """Transitions per second of a state search over the shipped procedures, one kill anywhere."""
    from redial_lab.explore.search import Limits, search
    from redial_lab.proof.audit_setups import two_phase

    result = search(two_phase(kills=1), Limits(transitions=TRANSITIONS))
    return result.transitions / result.seconds


def call_text(config: Config) -> str:
    """The call as ODBC clients make it; the body is its one parameter."""
    values = ", ".join(
        literal(value)
        for value in (
            config.services.initiator,
            config.services.target,
            config.contract.name,
            config.message_types[0].name,
        )
    )
    return f"EXECUTE {quote_name(config.schema_name)}.[usp_Send] {values}, ?;"


MEASURES: dict[str, Callable[[], float]] = {
    "send.in_process_per_s": send_in_process,
    "land.per_s": land,
    "database.fresh_ms": fresh_database,
    "database.restore_ms": restore,
    "explore.transitions_per_s": explore,
}

if __name__ == "__main__":
    print(MEASURES[sys.argv[1]]())
