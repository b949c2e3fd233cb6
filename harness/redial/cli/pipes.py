"""Output whose reader has gone: ``redial render | head -1``."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any

_GONE = (errno.EPIPE, errno.EINVAL)
"""What a write says of a closed pipe; on Windows the second."""


class _Forgiving(io.RawIOBase):
    """A file's descriptor; once its reader has gone, what is written to it goes nowhere."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any) -> int:
        try:
            return os.write(self._descriptor, data)
        except OSError as error:
            if error.errno not in _GONE:
                raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._descriptor)
        os.close(nowhere)
        return len(data)


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
