"""No circle of modules inside the embedded broker: every arrow between two of its modules goes down.

All imports of its own modules count, those inside a function too: a late import is an arrow as
well, only one that is hard to see. What stands below ``if TYPE_CHECKING:`` does not run and is left
out. import-linter's contract of this kind speaks of folders, where circles are allowed.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("redial_broker", exclude_type_checking_imports=True, cache_dir=None)


def circle(graph: grimp.ImportGraph) -> list[str]:
    """The modules of a circle, the first one again at its end; [] where there is none."""
    arrows = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_circle_of_modules_in_the_broker(graph):
    assert graph.count_imports() > 1000, "the broker's imports were not found"
    assert circle(graph) == []


def test_a_circle_is_found(graph):
    low, high = "redial_broker.engine.locks", "redial_broker.instance.instance"
    assert graph.find_shortest_chain(high, low)
    graph.add_import(importer=low, imported=high)
    assert {low, high} <= set(circle(graph))
    graph.remove_import(importer=low, imported=high)
