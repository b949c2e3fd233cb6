"""The model both sides are told in: things with properties, all of them texts."""

from __future__ import annotations

from typing import NamedTuple

Properties = dict[str, str]
"""By name; an empty text stands for nothing there."""


class Thing(NamedTuple):
    """What a catalog holds."""

    kind: str
    """In words: table, column, queue, permission."""
    name: str
    """Without the schema where that is the configuration's."""
    of: str = ""
    """What it belongs to: a column's table; of a permission what it is on, its kind first."""

    def __str__(self) -> str:
        join = "on" if self.kind == "permission" else "of"
        return f"{self.kind} {self.name}" + (f" {join} {self.of}" if self.of else "")

    def belongs_to(self, other: Thing) -> bool:
        """Whether it goes when the other goes."""
        if self.kind == "permission":
            return self.of.endswith(f" {other.name}")
        return self.of == other.name and self.kind != other.kind


Catalog = dict[Thing, Properties]
"""Everything of an installation."""

ON, OFF = "on", "off"
HIDDEN = "(not to be seen)"
"""Text of a module that is encrypted, or whose definition the login may not see."""


def switch(value: object) -> str:
    """A bit as a word."""
    return ON if value else OFF
