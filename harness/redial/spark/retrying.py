"""Another try for what a restart, a failover or a deadlock took: bounded, with backoff, told once.

What is tried again is whole by itself: a look of the planner, the rest of a range, a partition with
its row in the ledger, an acknowledgement. What is permanent fails at once (``SourceError.passing``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception

from redial.spark.connect import READER, SourceError, close, explained, open_connection
from redial.spark.options import Options

Result = TypeVar("Result")

FIRST, LONGEST = 0.5, 10.0
"""Seconds before the third try, and at most between two; the second comes at once, as a connection
that was cut is most often made again."""

TOLD = 2
"""Tries that failed before somebody is told."""

log = logging.getLogger("pyspark_servicebroker")


@dataclass
class Tries:
    """How often this process has tried again."""

    count: int = 0


tried_again = Tries()


def sleep(seconds: float) -> None:
    """Real time; a test puts its own here."""
    time.sleep(seconds)


def again(options: Options, doing: str, work: Callable[[], Result]) -> Result:
    """What ``work`` returns, tried for ``retrySeconds``. doing: what waits, for the log. Raises
    SourceError: the last one of a trouble that did not pass, with how long it was waited for."""
    bound = options.retry_seconds
    retrying = Retrying(
        retry=retry_if_exception(passes),
        wait=_wait,
        stop=lambda state: max(state.idle_for, state.seconds_since_start or 0.0) >= bound,
        before_sleep=lambda state: _tell(state, doing, bound),
        sleep=sleep,
        reraise=True,
    )
    found = retrying(work)
    tries = retrying.statistics["attempt_number"]
    if tries > TOLD:
        log.warning("%s: goes on after %d tries", doing, tries)
    return found


def ask(
    options: Options, doing: str, failed: str, work: Callable[[Any], Result], right: str = READER
) -> Result:
    """What ``work`` returns of a connection of its own, tried like ``again``. failed: what is said of
    a driver's error. right: what helps who may not. Raises SourceError."""

    def once() -> Result:
        connection = open_connection(options)
        try:
            with explained(options, failed, right):
                return work(connection)
        finally:
            close(connection)

    return again(options, doing, once)


def passes(error: BaseException) -> bool:
    """Whether the trouble may be over by itself."""
    return isinstance(error, SourceError) and error.passing


def _wait(state: RetryCallState) -> float:
    """Seconds."""
    tries = state.attempt_number
    return 0.0 if tries == 1 else min(LONGEST, FIRST * 2 ** min(tries - 2, 20))


def _tell(state: RetryCallState, doing: str, bound: float) -> None:
    """Once for each wait; what it waits for is in the error."""
    tried_again.count += 1
    if state.attempt_number == TOLD and state.outcome is not None:
        log.warning(
            "%s waits, and tries again for %d s: %s", doing, bound, state.outcome.exception()
        )
