"""How many kept results speak of today's engine and today's text, and how many are older.

The engine moves on with most commits, and searching everything again takes hours. So an older
engine makes no check red and no page stale: it is counted when somebody asks. A page says which
engines found what is on it, and that stays true.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Ages:
    """Results by what they are of."""

    found: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    """(of today's engine, of today's text) -> how many."""
    missing: int = 0
    """What was not searched yet."""

    def take(self, engine: bool, text: bool) -> None:
        """Count a result. text: also where a result does not say which text it is of, as results
        of an unknown engine."""
        self.found[engine, text] += 1

    @property
    def old(self) -> bool:
        """Whether there is anything that today's search might tell otherwise."""
        return bool(self.missing or self.found.total() - self.found[True, True])

    def __str__(self) -> str:
        found = self.found
        said = (
            f"{found.total()} results: {found[True, True]} of this engine and text, "
            f"{found[False, True]} of an older engine, {found[True, False]} of an older text, "
            f"{found[False, False]} of an older engine and text"
        )
        return said + (f"; {self.missing} not searched yet" if self.missing else "")

    def verdict(self) -> str:
        """What a check says of a page that is made of them."""
        return f"outdated: {self}" if self.old else f"up to date: {self}"
