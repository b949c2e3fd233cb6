"""What was made of the last texts: trees and programs."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
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
        found = self._kept.get(key)
        if found is not None:
            with suppress(KeyError):  # another instance's thread has just let it go
                self._kept.move_to_end(key)
        return found

    def values(self) -> list[Any]:
        """All that is kept."""
        return list(self._kept.values())

    def clear(self) -> None:
        """Forget all of it."""
        self._kept.clear()

    def put(self, key: Any, made: Any) -> None:
        """Keep something; what was not asked for the longest goes when there are too many."""
        self._kept[key] = made
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)
