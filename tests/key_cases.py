"""What callers see of each key, written down by hand: one file of ``tests/product/keys`` for each.

The traits of a key say how it works; these say what comes of it, so that a test can tell whether they
are right (tests/product/callers/test_keys.py).
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FOLDER = Path(__file__).parent / "product" / "keys"


class Case(BaseModel):
    """Two callers, A and B, on one computer and under one login: A sends twice, then B once."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    stored: str
    """What stands in ConversationKey of its dialog's row, as T-SQL asked in the caller's own session;
    ``@key`` is the key it names. Empty: there are no rows."""
    same: int
    """Dialogs begun when both name one key."""
    apart: int
    """Dialogs begun when each names a key of its own."""
    waits: str
    """What B waits for, both naming one key that has a dialog, while A has sent and not committed:
    KEY (its row), CONVERSATION_GROUP; empty: for nothing."""


def read(folder: Path = FOLDER) -> dict[str, Case]:
    """Word -> case. Raises ValidationError, TOMLDecodeError."""
    return {
        path.stem: Case.model_validate(tomllib.loads(path.read_text("utf-8")))
        for path in sorted(folder.glob("*.toml"))
    }


CASES = read()
