"""A path as one word that can be passed on a command line, and back.

``51x4.timer:0.21x3.51@9f3ac21e``: session 51 runs four steps, the first timer that could fire
fires, and so on; behind the @ the beginning of the hash of the state it ends in. A step that is no
run is its kind and its place among the possible steps of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from redial_lab.explore.search import ALSO, Violation, look
from redial_lab.explore.world import Scenario, Step, World

DIGITS = 8
_PART = re.compile(r"(?:(?P<spid>\d+)|(?P<kind>[a-z_]+):(?P<place>\d+))(?:x(?P<times>\d+))?")


class SeedError(ValueError):
    """A word that is no path of this scenario; the text says where it leaves it and why."""


def encode(scenario: Scenario, path: Iterable[Step]) -> str:
    """The word of a path."""
    world = World(scenario)
    words = []
    for step in path:
        words.append(_word(world, step))
        world.take(step)
    parts = [(word, len(list(same))) for word, same in groupby(words)]
    text = ".".join(word if times == 1 else f"{word}x{times}" for word, times in parts)
    end = world.hash().hex()[:DIGITS]
    world.close()
    return f"{text}@{end}"


def decode(scenario: Scenario, text: str, *, to_any_state: bool = False) -> Violation:
    """The path a word names, as far as the violation it meets (its name is '' when it meets none).

    Raises SeedError for a word that cannot be read, a step that is not possible there, or an end
    in another state than the word says: the scenario, its scripts or the broker have changed.
    to_any_state: of a word that does not say where it ends.
    """
    body, _, end = text.strip().partition("@")
    world = World(scenario)
    path: list[Step] = []
    for part in body.split("."):
        found = _PART.fullmatch(part)
        if found is None:
            raise SeedError(f"{part!r}: neither a session nor kind:place, with xN behind it or not")
        for _ in range(int(found["times"] or 1)):
            step = _step(world, found, len(path) + 1)
            world.take(step)
            path.append(step)
    now = world.hash().hex()[:DIGITS]
    if not (end or to_any_state):
        raise SeedError("its end is missing: @ and the state it comes to, as it was printed")
    if end and end != now:
        raise SeedError(
            f"the path ends in state {now}, not in {end}: the scenario, its scripts or "
            "the broker have changed since"
        )
    names = violated(world)
    world.close()
    return Violation(ALSO.join(names), tuple(path))


def violated(world: World) -> list[str]:
    """Names of what is violated in a world as it stands."""
    return look(world)[0]


def _word(world: World, step: Step) -> str:
    if step.kind == "run":
        return str(step.who)
    same = [other for other in world.steps() if other.kind == step.kind]
    return f"{step.kind}:{same.index(step)}"


def _step(world: World, found: re.Match[str], number: int) -> Step:
    possible = world.steps()
    if found["spid"]:
        step = Step("run", int(found["spid"]))
        if step not in possible:
            raise SeedError(f"step {number}: session {found['spid']} cannot run there")
        return step
    same = [other for other in possible if other.kind == found["kind"]]
    place = int(found["place"])
    if place >= len(same):
        raise SeedError(f"step {number}: no {found['kind']}:{place} is possible there")
    return same[place]
