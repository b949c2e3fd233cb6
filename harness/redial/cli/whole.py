"""A file that is replaced whole: who reads it meanwhile has the old one or the new one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from redial.cli.errors import UserError, quoted


def replace_whole(path: Path, text: str) -> None:
    """Write UTF-8 beside it, then put that in its place; a failure leaves nothing behind.

    Raises UserError, which names the file.
    """
    if path.is_dir():
        raise UserError(quoted(path), "is a folder", "name a file in it")
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, "utf-8", newline="\n")
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        why = f"cannot be written: {error.strerror}"
        raise UserError(quoted(path), why, "check the path and its permissions") from error
