"""What was made of the last texts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class TextCache:
    """What was made of the last texts (trees, programs), by text and what it depends on.

    Any: whoever keeps something here chooses its key and its type.
    """

    def __init__(self, limit: int = 2000) -> None:
        self._limit = limit
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any) -> Any:
        """What is kept under that key, or None."""
        return self._kept.get(key)

    def values(self) -> list[Any]:
        """All that is kept."""
        return list(self._kept.values())

    def put(self, key: Any, made: Any) -> None:
        """Keep something; the oldest goes when there are too many."""
        self._kept[key] = made
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)
