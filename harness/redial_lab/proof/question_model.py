"""What a question is, what one of its searches is, and the scenario a search makes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from redial.config import Config
from redial_lab.explore.scenario import Scenario
from redial_lab.proof import installed
from redial_lab.proof.audit_setups import small_config


@dataclass(frozen=True, slots=True)
class Made:
    """A scenario to be made."""

    scenario: Callable[[], Scenario]
    config: Callable[[], Config] = small_config
    mutant: str | None = None
    """config, mutant: what it installs."""

    def essence(self) -> str:
        """Digest of what it installs."""
        return installed.essence(self.config(), self.mutant)


@dataclass(frozen=True, slots=True)
class Search:
    """One search."""

    title: str
    """In words."""
    made: Made
    """The scenario."""
    finds: tuple[str, ...] = ()
    """Beginnings of the names of all it must find, none for an empty tuple."""
    verbatim: bool = False
    """The text is somebody else's."""

    def holds(self, found: Collection[str]) -> bool:
        """Whether a search that found these names is what the answer says."""
        return (
            all(name.startswith(self.finds) for name in found)
            and all(any(name.startswith(begin) for name in found) for begin in self.finds)
            if self.finds
            else not found
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question somebody asked in public, and our answer."""

    who: str
    """Where it was asked."""
    asked: str
    """In short."""
    answer: str
    """Ours."""
    searches: dict[str, Search]
    """By name."""
    cells: tuple[str, ...] = ()
    """Patterns of names of cells of the matrix that say more."""
