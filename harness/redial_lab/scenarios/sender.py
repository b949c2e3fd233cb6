"""A client process: connections that call usp_Send as fast as they can, and keep count.

Run as ``python -m redial_lab.scenarios.sender`` with a Job as JSON on standard input; writes one JSON
object per line: ``{"sent": n}`` while it runs, ``{"clients": [...]}`` (ClientCount) at the end.
Processes, because a demo with all its clients in one would measure that one's interpreter lock.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from redial_lab.scenarios.flights import event, flights

ATTEMPTS = 3
"""How often a client tries a transaction again that the server refused, as a caller would."""

PROGRESS_SECONDS = 0.2


@dataclass(frozen=True)
class Job:
    """What one process does."""

    odbc: str
    """Connection string."""
    call: str
    """ODBC call text with one parameter, the body."""
    clients: list[int]
    """Numbers of its connections, of ``all_clients`` in the whole run: client i sends the records
    i, i + all ... of the first ``records``."""
    all_clients: int
    records: int
    in_transaction: int = 1
    """Messages per transaction of the odd-numbered clients; the even ones send in autocommit."""
    seconds: float = 0.0
    """The load is spread evenly over at least that long."""


@dataclass
class ClientCount:
    """What one connection knows: the numbers it was told are sent, and what went wrong."""

    client: int
    sent: list[tuple[int, int]] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    """Sent, but the connection broke before the answer."""
    errors: list[tuple[int, str]] = field(default_factory=list)
    """(number or 0, text)."""
    total: int = 0

    def add(self, first: int, last: int) -> None:
        """The numbers first..last are sent; neighbours are kept as one range."""
        self.total += last - first + 1
        if self.sent and self.sent[-1][1] == first - 1:
            self.sent[-1] = (self.sent[-1][0], last)
        else:
            self.sent.append((first, last))


def run_client(
    connection: Any,
    call: str,
    bodies: list[bytes],
    count: ClientCount,
    size: int = 0,
    wait_for: Callable[[int], None] = lambda number: None,
) -> None:
    """Send ``bodies`` in transactions of ``size`` messages (0: autocommit); fills ``count``.

    wait_for: called with the number of the message that comes next; returns when it is its turn.
    """
    cursor = connection.cursor()
    step = size or 1
    for first in range(0, len(bodies), step):
        numbers = range(first, min(first + step, len(bodies)))
        wait_for(first)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for number in numbers:
                    cursor.execute(call, bodies[number])
                if size:
                    connection.commit()
                count.add(numbers[0], numbers[-1])
                break
            except Exception as error:
                count.errors.append(_described(error))
                if not _alive(connection, size):
                    count.unknown += numbers
                    return
                if attempt == ATTEMPTS:
                    break


def _described(error: BaseException) -> tuple[int, str]:
    """Number and text of a server's error."""
    from redial.deploy.errors import server_message

    number, text = server_message(error)
    return number or 0, text


def _alive(connection: Any, size: int) -> bool:
    """Undo what the failed transaction left, if the connection still answers."""
    try:
        if size:
            connection.rollback()
        connection.execute("SELECT 1;").fetchone()
        return True
    except Exception:
        return False


def _bodies(job: Job) -> dict[int, list[bytes]]:
    """Every client's events, made before the clock runs."""
    found: dict[int, list[bytes]] = {client: [] for client in job.clients}
    for row, record in enumerate(flights(job.records)):
        mine = found.get(row % job.all_clients)
        if mine is not None:
            mine.append(event(row % job.all_clients, len(mine), record))
    return found


def _thread(job: Job, count: ClientCount, bodies: list[bytes]) -> None:
    """One connection from login to logout."""
    import pyodbc

    size = job.in_transaction if count.client % 2 else 0
    try:
        connection = pyodbc.connect(job.odbc, autocommit=not size, timeout=30)
    except pyodbc.Error as error:
        count.errors.append(_described(error))
        return
    try:
        run_client(connection, job.call, bodies, count, size, _pacer(len(bodies), job.seconds))
    finally:
        connection.close()


def _pacer(messages: int, seconds: float) -> Callable[[int], None]:
    """Waits until message n of ``messages`` is due, when they are spread over ``seconds``."""
    started = time.monotonic()

    def wait_for(number: int) -> None:
        early = started + seconds * number / max(messages, 1) - time.monotonic()
        if early > 0:
            time.sleep(early)

    return wait_for


def run(job: Job, write: Any) -> None:
    """Do the job; ``write`` takes each line."""
    bodies = _bodies(job)
    counts = [ClientCount(client) for client in job.clients]
    threads = [
        threading.Thread(target=_thread, args=(job, count, bodies[count.client]), daemon=True)
        for count in counts
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        write(json.dumps({"sent": sum(count.total for count in counts)}))
        time.sleep(PROGRESS_SECONDS)
    write(json.dumps({"clients": [asdict(count) for count in counts]}))


def main() -> None:
    """Entry point of the process."""
    job = Job(**json.loads(sys.stdin.readline()))
    run(job, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
