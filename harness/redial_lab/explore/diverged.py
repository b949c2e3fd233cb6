"""What a search that leaves out orders raises when its own ground is gone."""

from __future__ import annotations


class Diverged(AssertionError):
    """A step depends on more than what it was seen to read: what was remembered of it is no proof."""
