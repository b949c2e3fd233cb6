"""What a probe in Python is made of: checks, and one JSON line for each on standard output.

A probe runs in a process of its own, because a wrong token on the wire can make a driver hang or
crash. It is given one argument, a JSON object with what it needs to connect.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from tests.waiting import HANGS

CHECKS: dict[str, Callable[[Any], Any]] = {}


class Refused(str):
    """What a check returns when the broker refused by name, as it should."""


def check(capability: str, unless: bool = False) -> Callable[[Callable], Callable]:
    """Register the check of one capability: it returns what it saw, or raises.

    unless: the driver this probe runs with has no such thing.
    """

    def register(function: Callable) -> Callable:
        assert capability not in CHECKS, capability
        if not unless:
            CHECKS[capability] = function
        return function

    return register


def options() -> SimpleNamespace:
    """What the probe was given."""
    return SimpleNamespace(**json.loads(sys.argv[1]))


def main(context: Any, only: str | None = None) -> None:
    """Run every check and print what it saw."""
    faulthandler.dump_traceback_later(HANGS - 20, exit=True)
    for capability, function in CHECKS.items():
        if only in {None, capability}:
            print(json.dumps({"capability": capability} | _one(function, context)), flush=True)


def _one(function: Callable, context: Any) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        saw = function(context) or ""
        found = {"outcome": "refused" if isinstance(saw, Refused) else "yes", "saw": str(saw)}
    except BaseException as error:
        where = traceback.format_exc(limit=-3)
        found = {"outcome": "failed", "saw": f"{type(error).__name__}: {error}\n{where}"}
    return found | {"seconds": round(time.perf_counter() - began, 2)}


def fails(call: Callable[[], Any], *words: str) -> str:
    """The text of the exception ``call`` raises; it must contain every word."""
    try:
        result = call()
    except Exception as error:
        text = str(error)
        missing = [word for word in words if word not in text]
        assert not missing, f"{missing} not in {text}"
        return text
    raise AssertionError(f"no error but {result!r}")


def after(seconds: float, action: Callable[[], Any]) -> threading.Thread:
    """Run ``action`` on another thread a moment later; join the thread returned."""
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


@contextlib.contextmanager
def repeatedly(action: Callable[[], Any], seconds: float = 0.3) -> Iterator[None]:
    """Run ``action`` on another thread again and again: once may be too early on a busy machine."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(seconds):
            action()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
