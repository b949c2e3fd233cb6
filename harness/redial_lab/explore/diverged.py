"""A step that did otherwise than it did before although it read the same."""

from __future__ import annotations

from collections.abc import Hashable


class Diverged(AssertionError):
    """A step depends on more than what it was seen to read: what was remembered of it is no proof.

    place: where it stands in the T-SQL; None for a step that is no session's.
    """

    def __init__(self, text: str, place: Hashable = None) -> None:
        self.place = place
        super().__init__(text)
