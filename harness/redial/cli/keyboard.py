"""Keys of a terminal, one by one, without Enter."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """A function that waits so many seconds for a key: the key, or '' when none came; '\\x04' at the end.

    The terminal is as it was before when the block ends.
    """
    if sys.platform == "win32":
        yield _windows
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield lambda seconds: _posix(terminal, seconds)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _posix(terminal: int, seconds: float) -> str:
    import os

    ready, _, _ = select.select([terminal], [], [], seconds)
    if not ready:
        return ""
    return os.read(terminal, 1).decode("ascii", "replace") or "\x04"


def _windows(seconds: float) -> str:
    if sys.platform != "win32":  # for the type checker: msvcrt is there only
        return ""
    import msvcrt

    until = time.monotonic() + seconds
    while not msvcrt.kbhit():
        if time.monotonic() >= until:
            return ""
        time.sleep(0.05)
    return msvcrt.getwch()
