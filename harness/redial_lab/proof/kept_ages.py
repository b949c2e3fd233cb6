"""How many kept results speak of today's engine and today's text, and how many are older.

The engine moves on with most commits, and searching everything again takes hours. So an older
engine makes no check red and no page stale: it is counted when somebody asks. A page says which
engines found what is on it, and that stays true.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

OLDER: dict[tuple[bool, bool | None], str] = {
    (False, True): "an older engine",
    (False, None): "an older engine that kept no text",
    (True, None): "today's engine that kept no text",
    (True, False): "an older text",
    (False, False): "an older engine and text",
}
"""How those are called that today's search might tell otherwise."""


@dataclass(slots=True)
class Ages:
    """Results by what they are of."""

    again: str = ""
    """The command that searches the older ones again."""
    found: Counter[tuple[bool, bool | None]] = field(default_factory=Counter)
    """(of today's engine, of today's text or None: it does not say) -> how many."""
    missing: int = 0
    """What was not searched yet."""

    def take(self, engine: bool, text: bool | None) -> None:
        """Count a result. text: None where it does not say which text it is of, as results of an
        unknown engine."""
        self.found[engine, text] += 1

    @property
    def old(self) -> bool:
        """Whether there is anything that today's search might tell otherwise."""
        return bool(self.missing or self.found.total() - self.found[True, True])

    def __str__(self) -> str:
        found = self.found
        said = [f"{found.total()} results, {found[True, True]} of today's engine and text"]
        said += [f"{found[old]} of {name}" for old, name in OLDER.items() if found[old]]
        said += [f"{self.missing} not searched yet"] if self.missing else []
        return ", ".join(said)

    def verdict(self) -> str:
        """What a check says of a page that is made of them."""
        if not self.old:
            return f"up to date: {self}"
        return f"outdated, which is no failure: {self}. When there are hours for it: {self.again}"
