"""What a search with faults comes to, on tables and queues of ``tables``."""

from __future__ import annotations

from redial_lab.explore import Client, Scenario, World, search
from redial_lab.explore.checks import nothing_left_behind
from redial_lab.explore.faults import Fault
from tests.lab.explore.tables import queues


def numbers(world: World) -> list[int]:
    table = world.instance.server.database("d").resolve("dbo", "c")
    return [row[1] for row in table.rows.entries.values()]


def rows(world: World) -> str:
    """What the table holds."""
    return str(numbers(world))


def told(world: World) -> str:
    """What each application was told, and what the table holds."""
    return f"{world.progress.results} {numbers(world)}"


def found(
    text: str,
    *faults: Fault,
    clients: int = 1,
    look=rows,
    on_cancel: str = "",
    warm: tuple[str, ...] = (),
) -> tuple[set[str], object]:
    """What ``look`` says of every end of a search, and the search's result."""
    seen = set()

    def note(world: World) -> list[str]:
        seen.add(look(world))
        return nothing_left_behind(world)

    scenario = Scenario(
        "faults",
        queues,
        tuple(
            Client(f"T{n}", (text,), "d", warm if n == 1 else (), on_cancel)
            for n in range(1, clients + 1)
        ),
        at_the_end=note,
        faults=faults,
    )
    result = search(scenario)
    assert result.ended
    return seen, result


def ends(made: Scenario, look=told, how=search) -> set:
    """What ``look`` says of every end of a search; nothing else is looked at."""
    seen = set()
    made.watched = lambda world: None
    made.at_the_end = lambda world: seen.add(look(world)) or []
    assert how(made).ended
    return seen


def clients(*texts: str) -> tuple[Client, ...]:
    """Applications that run one batch each."""
    return tuple(Client(f"T{n}", (text,), "d") for n, text in enumerate(texts, 1))
