"""Connections that call one procedure for a while; one process of them.

``python -m redial_lab.bench.client`` with a JSON object on standard input; prints calls per second.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

BODY = json.dumps({"client": 1, "number": 123456, "filler": "x" * 200}).encode()
WARM_CALLS = 50


def rate(odbc: str, call: str, connections: int, seconds: float) -> float:
    """Calls per second of all connections together, each in autocommit."""
    import pyodbc

    cursors = [
        pyodbc.connect(odbc, autocommit=True, timeout=30).cursor() for _ in range(connections)
    ]
    for cursor in cursors:
        for _ in range(WARM_CALLS):
            cursor.execute(call, BODY)
    counts = [0] * connections
    started = time.perf_counter()

    def work(number: int, cursor: Any) -> None:  # Any: pyodbc's, which has no types
        while time.perf_counter() - started < seconds:
            for _ in range(20):
                cursor.execute(call, BODY)
            counts[number] += 20

    threads = [threading.Thread(target=work, args=(n, cursor)) for n, cursor in enumerate(cursors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)


if __name__ == "__main__":
    print(rate(**json.load(sys.stdin)))
