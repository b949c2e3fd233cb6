"""A file that is replaced whole: who reads it meanwhile has the old one or the new one."""

from __future__ import annotations

import os
from pathlib import Path


def replace_whole(path: Path, text: str) -> None:
    """Write UTF-8 beside it, then put that in its place; a failure leaves nothing behind. Raises OSError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, "utf-8")
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
