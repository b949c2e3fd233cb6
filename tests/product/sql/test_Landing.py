"""Landing as it is made: what depends on the server's version."""

import pytest

from tests.installed import rendered

from .bare import Bare
from .lab import AUDIT
from .test_rules import code

OPTION = "SELECT i.optimize_for_sequential_key FROM sys.indexes AS i WHERE i.name = N'PK_Landing';"


@pytest.mark.parametrize(
    ("product", "on"),
    [("2016 SP1", 0), ("2017", 0), ("2019", 1), ("2025", 1), ("Managed Instance", 1)],
)
def test_readers_take_turns_at_the_end_of_its_key_where_the_server_can(product, on):
    bare = Bare(product=product)
    bare.deploy(AUDIT)
    assert bare.rows(OPTION) == [(on,)]


def test_an_older_server_never_reads_the_option():
    """It is a syntax error before 2019, so it stands in a text of its own."""
    text = rendered(AUDIT)["30_Landing.table.sql"]
    assert "OPTIMIZE_FOR_SEQUENTIAL_KEY" in text
    assert "OPTIMIZE_FOR_SEQUENTIAL_KEY" not in code(text)


def test_an_operators_own_choice_stays():
    bare = Bare.deployed(AUDIT)
    bare.run(["ALTER INDEX PK_Landing ON audit.Landing SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF);"])
    bare.deploy(AUDIT)
    assert bare.rows(OPTION) == [(0,)]
