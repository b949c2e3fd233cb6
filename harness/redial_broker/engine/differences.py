"""What the embedded broker does otherwise than a server: declared beside the code that does it.

A refusal is no difference: it says so itself. The coverage page prints this registry.
"""

from __future__ import annotations

DIFFERENCES: dict[str, str] = {}
"""What -> why, of every room that is loaded."""


def differs(what: str, why: str) -> None:
    """Declare a difference. what: construct or behaviour in a DBA's words; why: what happens here
    instead, and the reason."""
    if what in DIFFERENCES:
        raise ValueError(f"declared twice: {what}")
    DIFFERENCES[what] = why
