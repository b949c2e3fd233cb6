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
    """A scenario to be made. config, mutant: what it installs."""

    scenario: Callable[[], Scenario]
    config: Callable[[], Config] = small_config
    mutant: str | None = None

    def essence(self) -> str:
        """Digest of what it installs."""
        return installed.essence(self.config(), self.mutant)


@dataclass(frozen=True, slots=True)
class Search:
    """One search. title: in words. made: the scenario. finds: beginnings of the names of all it
    must find, none for an empty tuple. verbatim: the text is somebody else's.
    """

    title: str
    made: Made
    finds: tuple[str, ...] = ()
    verbatim: bool = False

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
    """who: where it was asked. asked: in short. answer: ours. searches: by name. cells: patterns
    of names of cells of the matrix that say more.
    """

    who: str
    asked: str
    answer: str
    searches: dict[str, Search]
    cells: tuple[str, ...] = ()
