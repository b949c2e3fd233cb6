"""``invoke broker``: an embedded broker in the foreground until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from redial_broker.tds.drivers import jdbc_url, odbc_connection_string
from redial_broker.tds.embedded import credentials, make_instance
from redial_broker.tds.null import NullInstance
from redial_broker.tds.server import TdsServer

if TYPE_CHECKING:
    from redial_broker.tds.served import Served


GRACE_SECONDS = 10.0
"""So long a told process may take to end in good order; then it ends as it is."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main(
    port: int = 1433,
    *,
    seed: int = 0,
    switches: dict[str, object] | None = None,
    instance: Served | None = None,
    password: str | None = None,
) -> None:
    """Serve on ``port`` (0: a free one) until SIGINT or SIGTERM.

    A thread of its own hears them, so that the process ends even while a statement gives nobody a
    turn: after ``GRACE_SECONDS``, with status 1.

    Prints ``ODBC: <connection string>`` and ``JDBC: <url>`` when connections are accepted.
    password: what these lines show as sa's, None for the usual one.
    Raises OSError when the port is taken.
    """
    served = instance if instance is not None else make_instance(seed, "real", switches)
    gc.freeze()  # what is loaded now stays: no collection need ever walk it
    gc.enable()
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # whoever waits for them hears them
    asyncio.run(_serve(served, port, password))


async def _serve(instance: Served, port: int, password: str | None) -> None:
    server = TdsServer(instance, port=port)
    await server.start()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_hear, args=(loop, stop), name="signals", daemon=True).start()
    user, usual = credentials(instance)
    password = password or usual
    print(f"ODBC: {odbc_connection_string(server.port, user, password)}", flush=True)
    print(f"JDBC: {jdbc_url(server.port, user, password)}", flush=True)
    await stop.wait()
    await server.stop()


def _hear(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Wait for a signal, tell the loop, and end the process where the loop does not come round."""
    signal.sigwait(_SIGNALS)
    loop.call_soon_threadsafe(stop.set)
    threading.Event().wait(GRACE_SECONDS)  # a daemon: a process that ends takes it along
    print("A statement did not let the broker end in good order.", file=sys.stderr, flush=True)
    os._exit(1)


def command(arguments: list[str] | None = None) -> None:
    """``python -m redial_broker.tds.serve``: what ``BrokerProcess`` starts."""
    parser = argparse.ArgumentParser(description="Run the embedded broker until a signal.")
    parser.add_argument("--port", type=int, default=1433, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=0, help="of every id the broker makes")
    parser.add_argument("--null", action="store_true", help="answer at once, do nothing")
    options = parser.parse_args(arguments)
    main(options.port, seed=options.seed, instance=NullInstance() if options.null else None)


if __name__ == "__main__":
    command()
