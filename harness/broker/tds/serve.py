"""``invoke broker``: an embedded broker in the foreground until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from harness.broker.tds.drivers import jdbc_url, odbc_connection_string
from harness.broker.tds.embedded import credentials, make_instance
from harness.broker.tds.server import TdsServer


def main(
    port: int = 1433,
    *,
    seed: int = 0,
    switches: dict[str, object] | None = None,
    instance: Any = None,
) -> None:
    """Serve on ``port`` (0: a free one) until SIGINT or SIGTERM.

    Prints ``ODBC: <connection string>`` and ``JDBC: <url>`` when connections are accepted.
    Raises OSError when the port is taken.
    """
    served = instance if instance is not None else make_instance(seed, "real", switches)
    asyncio.run(_serve(served, port))


async def _serve(instance: Any, port: int) -> None:
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
