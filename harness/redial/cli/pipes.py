"""Output whose reader has gone (``redial render | head -1``), or whose file is full."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any

_GONE = (errno.EPIPE, errno.EINVAL)
"""What a write says of a closed pipe; on Windows the second."""


class _Forgiving(io.RawIOBase):
    """A file's descriptor; once its reader has gone or it is full, what is written goes nowhere."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.lost = ""
        """Why it could not be written, by the system's own words: a full disk."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            if error.errno not in _GONE:
                self.lost = error.strerror or str(error)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._descriptor)
        os.close(nowhere)
        return len(data)


def lost() -> str:
    """Why what was printed could not all be written; empty where it was. Writes what still waits."""
    with suppress(OSError, ValueError):  # closed, or another's
        sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.lost if isinstance(raw, _Forgiving) else ""


def forgive() -> None:
    """Let a command end what it has begun, with its own status, when nobody reads on.

    A deployment that is cut off because ``head`` has seen enough would be worse than lost lines.
    """
    try:
        if sys.stdout.isatty():
            return
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):  # no file: nobody can go away from it
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Forgiving(descriptor)),
        encoding=sys.stdout.encoding,
        errors=sys.stdout.errors,
        line_buffering=bool(sys.stdout.line_buffering),
    )
