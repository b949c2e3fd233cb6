"""``invoke broker``: an embedded broker in the foreground."""

from __future__ import annotations

import argparse

from harness.cli.errors import UserError, command


@command
def broker(port: int = 1433, seed: int = 0) -> None:
    """Serve on ``port`` (0: a free one) until interrupted; prints an ODBC and a JDBC line."""
    from harness.broker.tds.serve import main

    if not 0 <= port <= 65535:
        raise UserError(f"--port {port}", "is no port number", "pass 0 to 65535; 0: a free one")
    try:
        main(port, seed=seed)
    except OSError as error:
        raise UserError(
            f"port {port}", error.strerror or str(error), "invoke broker --port 0 takes a free one"
        ) from error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="harness.cli.broker")
    parser.add_argument("--port", type=int, default=1433)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    broker(chosen.port, chosen.seed)
