"""``invoke broker``: an embedded broker in the foreground until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
from typing import TYPE_CHECKING

from redial_broker.tds.drivers import jdbc_url, odbc_connection_string
from redial_broker.tds.embedded import credentials, make_instance
from redial_broker.tds.null import NullInstance
from redial_broker.tds.server import TdsServer

if TYPE_CHECKING:
    from redial_broker.tds.served import Served


def main(
    port: int = 1433,
    *,
    seed: int = 0,
    switches: dict[str, object] | None = None,
    instance: Served | None = None,
) -> None:
    """Serve on ``port`` (0: a free one) until SIGINT or SIGTERM.

    Prints ``ODBC: <connection string>`` and ``JDBC: <url>`` when connections are accepted.
    Raises OSError when the port is taken.
    """
    served = instance if instance is not None else make_instance(seed, "real", switches)
    gc.freeze()  # what is loaded now stays: no collection need ever walk it
    gc.enable()
    asyncio.run(_serve(served, port))


async def _serve(instance: Served, port: int) -> None:
    server = TdsServer(instance, port=port)
    await server.start()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    user, password = credentials(instance)
    print(f"ODBC: {odbc_connection_string(server.port, user, password)}", flush=True)
    print(f"JDBC: {jdbc_url(server.port, user, password)}", flush=True)
    await stop.wait()
    await server.stop()


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
