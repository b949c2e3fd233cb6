"""A violation's way made fit to be read: fewer steps than ``shortest`` leaves, fewer switches.

``shortest`` drops steps one by one and in runs of half the length; here every run is tried, then
runs of one session's steps are moved together while the violation is still met.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from redial_lab.explore.replay_words import violated
from redial_lab.explore.search import Violation, shortest
from redial_lab.explore.world import Scenario, Step, World

MOST_TO_SHORTEN = 20_000
"""Transitions spent on making one violation readable."""


def readable(scenario: Scenario, violation: Violation, most: int = MOST_TO_SHORTEN) -> Violation:
    """The violation by as few steps, and then as few switches between sessions, as were found."""
    found = shortest(scenario, violation)
    player = _Player(scenario, violation.name, most)
    path = player.fewer_steps(player.without_misses(list(found.path)))
    path = player.fewer_switches(path)
    player.world.close()
    return Violation(violation.name, tuple(path))


def switches(path: list[Step]) -> int:
    """How often another session or the server itself comes to act."""
    return len([key for key, _ in groupby(path, key=_who)])


def _who(step: Step) -> object:
    return step.who if isinstance(step.who, int) else step.kind


class _Player:
    def __init__(self, scenario: Scenario, name: str, most: int) -> None:
        self.world = World(scenario)
        self.origin = self.world.journal.mark()
        self.name = name
        self.left = most
        self.misses: list[int] = []
        """Places in the path played last of faults of which nothing came."""

    def play(self, path: list[Step]) -> list[Step] | None:
        """The path as far as the violation; None when it cannot be played or never meets it."""
        self.misses = []
        try:
            for number, step in enumerate(path, 1):
                if step not in self.world.steps():
                    return None
                if not self.world.take(step):
                    self.misses.append(number - 1)
                self.left -= 1
                if self.name in violated(self.world):
                    return path[:number]
            return None
        finally:
            self.world.journal.rewind(self.origin)

    def without_misses(self, path: list[Step]) -> list[Step]:
        """What a fault did of which nothing came, the session does by itself."""
        self.play(path)
        for at in self.misses:
            run = [*path[:at], Step("run", path[at].who), *path[at + 1 :]]
            path = self.play(run) or path
        return path

    def fewer_steps(self, path: list[Step]) -> list[Step]:
        """Leave out every run of steps that can be left out, the longest first."""
        size = len(path) - 1
        while size >= 1 and self.left > 0:
            for at in range(len(path) - size + 1):
                played = self.play(path[:at] + path[at + size :])
                if played is not None:
                    path = played
                    break
            else:
                size -= 1
                continue
            size = min(size, len(path) - 1)
        return path

    def fewer_switches(self, path: list[Step]) -> list[Step]:
        """Move whole runs of one session's steps next to another of its runs."""
        better: list[Step] | None = path
        while better is not None and self.left > 0:
            path, better = better, None
            runs = [list(run) for _, run in groupby(path, key=_who)]
            for better in filter(None, map(self.play, _moves(runs))):
                if switches(better) < switches(path) and len(better) <= len(path):
                    break
                better = None
        return path


def _moves(runs: list[list[Step]]) -> Iterator[list[Step]]:
    """Every order in which one run has gone to another run of the same session."""
    for source, run in enumerate(runs):
        for target, other in enumerate(runs):
            if source == target or _who(run[0]) != _who(other[0]):
                continue
            rest = [each for number, each in enumerate(runs) if number != source]
            at = rest.index(other) + (1 if source > target else 0)
            yield [step for each in [*rest[:at], run, *rest[at:]] for step in each]
