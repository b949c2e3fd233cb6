"""``redial metrics``: the figures of an installation for Prometheus, as text, in a file or on a port."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from redial.cli.configs import load_named
from redial.cli.doctor_site import Site
from redial.cli.errors import UserError, command, waits
from redial.cli.server import named_server
from redial.cli.watching import Seen, Watch
from redial.cli.whole import replace_whole
from redial.operate.figures import Sample

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

LABELS = {
    "gate_open": ("", "1: senders may send"),
    "queue_receive_enabled": ("queue", "1: the queue is on"),
    "queue_activation_enabled": ("queue", "1: the queue starts readers"),
    "queue_messages": ("queue", "messages in the queue, about"),
    "queue_readers": ("queue", "readers that run; only for who has VIEW SERVER STATE"),
    "queue_readers_most": ("queue", "readers that may run"),
    "rows": ("table", "rows of a table, about"),
    "dead_letters_unhandled": ("", "of the last 10,000 dead letters"),
    "errors_last_hour": ("", "rows of ErrorLog, of the last 10,000"),
    "conversations_waiting": ("", "they wait for the server's set-up, or behind a dead letter"),
    "conversations_slowed": ("", "all that they bring is refused"),
    "unlanded_dialogs": ("", "dialogs with messages that have not landed, at most 1,000"),
    "unlanded_oldest_seconds": ("", "age of the oldest message that has not landed"),
    "endpoints": ("state", "conversation endpoints, of the first 200,000"),
    "endpoints_oldest_seconds": ("state", "age of the oldest dialog in use"),
    "pending": ("kind", "what has not reached its queue, at most 10,000"),
    "pending_oldest_seconds": ("kind", "how long the oldest of these has waited"),
}
"""By the name that usp_Figures gives: the label's name, and what it is."""
ALWAYS_0 = ("conversations_waiting", "conversations_slowed")
"""usp_Figures leaves these out where there is none."""


@command
def metrics(
    config: str,
    *,
    server: str | None = None,
    database: str | None = None,
    port: int | None = None,
    address: str = "127.0.0.1",
    out: str | None = None,
    wait_seconds: int = 15,
) -> int:
    """Print the figures; with ``out`` replace a file by them, with ``port`` serve them until interrupted.

    Each answer asks the server anew. Returns 0, or 4 where a database could not be asked, which is said in
    ``redial_up`` too.
    """
    waits(wait_seconds)
    if port is not None and not 0 <= port < 65536:
        raise UserError(f"--port {port}", "is no port", "use 0 to 65535; 0 takes a free one")
    if port is not None and out:
        raise UserError("--port --out", "do not go together", "give one of them")
    from prometheus_client import CollectorRegistry, generate_latest

    model = load_named(config)
    site = Site(model, named_server(server, must_be_named=True), database, wait_seconds)
    registry = CollectorRegistry()
    with Watch(site) as watch:
        figures = Figures(watch)
        registry.register(figures)
        if port is not None:
            return _served(registry, address, port)
        said = generate_latest(registry).decode()
    if out:
        replace_whole(Path(out), said)
    else:
        sys.stdout.write(said)
    troubles = [one.trouble for one in figures.seen if one.trouble]
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    return 4 if troubles else 0


def _served(registry: object, address: str, port: int) -> int:
    """Until interrupted. Raises UserError where the port is taken."""
    from prometheus_client import start_http_server

    try:
        served, thread = start_http_server(port, addr=address, registry=registry)  # type: ignore[arg-type]
    except OSError as error:
        taken = f"{address} does not give it: {error.strerror}"
        next = "choose another port, or another --address"
        raise UserError(f"--port {port}", taken, next) from error
    print(f"http://{address}:{served.server_port}/metrics, until you press Ctrl+C", flush=True)
    try:
        thread.join()
    finally:
        served.shutdown()
    return 0


class Figures:
    """A collector of prometheus_client: each time it is asked, each database is."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._one_at_a_time = threading.Lock()
        self.seen: list[Seen] = []
        """Of the last time."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: to register is not to ask."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """A gauge for each figure, and ``redial_up``. Asks the server."""
        from prometheus_client.core import GaugeMetricFamily

        with self._one_at_a_time:
            began = time.monotonic()
            self.seen = seen = self._watch.look(began)
            took = time.monotonic() - began
        config, own = self._watch.site.model.name, ["config", "database"]
        up = GaugeMetricFamily("redial_up", "1: the database was asked and answered", labels=own)
        for one in seen:
            up.add_metric([config, one.place.database], 1 if one.sample else 0)
        yield up
        asked = GaugeMetricFamily(
            "redial_ask_seconds", "how long the databases took to answer", labels=own[:1]
        )
        asked.add_metric([config], took)
        yield asked
        for name, (label, says) in LABELS.items():
            gauge = GaugeMetricFamily(f"redial_{name}", says, labels=[*own, *filter(None, [label])])
            for one in seen:
                for of, value in _values(one.sample, name):
                    gauge.add_metric([config, one.place.database, *([of] if label else [])], value)
            yield gauge


def _values(seen: Sample | None, name: str) -> list[tuple[str, int]]:
    """Label and value of each figure of that name that can be seen."""
    if seen is None:
        return []
    values = [(of, value) for (known, of), value in seen.figures.items() if known == name]
    if not values and name in ALWAYS_0:
        return [("", 0)]
    return [(of, value) for of, value in values if value is not None]
