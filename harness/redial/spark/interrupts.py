"""Ctrl-C while a job waits for Spark: noted, and not raised in the middle of a call to the JVM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def noted() -> Iterator[Callable[[], bool]]:
    """Gives a function that tells whether the first Ctrl-C of the block has come; a second one does
    what it did before. In a thread other than the main one nothing changes, and it tells False.

    PySpark's own handler calls the JVM to cancel the jobs. Within another call to the JVM, as which
    a job waits, that fails and shows pages of traces.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        came.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)
