"""What a session keeps of an error it handles and of a wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from redial_broker.engine.state import definition


@definition()
@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """What ERROR_NUMBER() and its kin answer inside a CATCH block."""

    number: int
    severity: int
    state: int
    procedure: str | None
    line: int
    message: str


@dataclass(slots=True)
class OtherWait:
    """Wait record for anything but a lock."""

    kind: str
    """Delay, queue, group ..."""
    what: Any
    """Its object."""
    since: float
