"""Landing as it is made: what depends on the server's version."""

import pytest

from tests.installed import rendered

from .bare import Bare, another, installation
from .lab import AUDIT
from .test_change import Senders
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


# ------------------------------------------------------------------ [landing]
INDEXES = """SELECT i.name FROM sys.indexes AS i
WHERE i.object_id = OBJECT_ID(N'audit.Landing') AND i.index_id > 1;"""
KEPT = """SELECT p.index_id, p.data_compression_desc FROM sys.partitions AS p
WHERE p.object_id = OBJECT_ID(N'audit.Landing') ORDER BY p.index_id;"""
ROWS = "SELECT RowVersion, ConversationId, MessageSequence, Body FROM audit.Landing;"


def stored(**landing):
    return another(AUDIT, landing=landing)


def filled(config) -> Bare:
    """Installed, and a few messages have landed."""
    bare = Bare.deployed(config)
    senders = Senders(bare)
    for _ in range(3):
        senders.send(config)
    return bare


@pytest.mark.parametrize(
    ("order", "name", "key"),
    [
        ("conversation", "IX_Landing_Conversation", ["ConversationId", "MessageSequence"]),
        ("key", "IX_Landing_Key", ["ConversationKey", "KeySequence"]),
    ],
)
def test_an_index_in_the_order_sent_is_made_where_it_is_wanted(order, name, key):
    bare = Bare.deployed(another(stored(order_index=True), conversation={"order": order}))
    assert bare.rows(INDEXES) == [(name,)]
    columns = bare.rows(
        "SELECT COL_NAME(c.object_id, c.column_id) FROM sys.index_columns AS c "
        "WHERE c.object_id = OBJECT_ID(N'audit.Landing') AND c.index_id > 1 ORDER BY c.key_ordinal;"
    )
    assert [column for (column,) in columns] == key


def test_a_filled_table_gets_the_index_and_the_compression_and_gives_them_back():
    """1 filled, as shipped  2 both come  3 the index goes: each row keeps its rowversion, so marks hold."""
    bare = filled(AUDIT)
    before = bare.rows(ROWS)
    assert before and bare.rows(KEPT) == [(1, "NONE")]
    bare.deploy(stored(order_index=True, compression="page"))
    assert bare.rows(KEPT) == [(1, "PAGE"), (2, "PAGE")]
    assert bare.rows(ROWS) == before
    bare.deploy(stored(order_index=True, compression="row"))
    assert bare.rows(KEPT) == [(1, "ROW"), (2, "ROW")]
    bare.deploy(stored(compression="none"))
    assert bare.rows(KEPT) == [(1, "NONE")] and bare.rows(INDEXES) == []
    assert bare.rows(ROWS) == before


def test_another_order_brings_the_other_index():
    bare = filled(stored(order_index=True))
    bare.deploy(another(stored(order_index=True), conversation={"order": "key"}))
    assert bare.rows(INDEXES) == [("IX_Landing_Key",)]


def test_what_a_dba_has_compressed_stays_where_nothing_is_said():
    bare = filled(AUDIT)
    bare.run(["ALTER INDEX PK_Landing ON audit.Landing REBUILD WITH (DATA_COMPRESSION = ROW);"])
    bare.deploy(AUDIT)
    assert bare.rows(KEPT) == [(1, "ROW")]


def test_a_filegroup_is_named_where_the_table_is_made():
    config = stored(filegroup="PRIMARY", order_index=True)
    text = rendered(config)["30_Landing.table.sql"]
    assert ") ON [PRIMARY] TEXTIMAGE_ON [PRIMARY];" in text
    assert "(ConversationId, MessageSequence) ON [PRIMARY];" in text
    assert filled(config).rows(ROWS)


def test_a_filegroup_that_is_not_there_is_told_before_anything_is_made():
    bare = Bare()
    assert bare.stops(installation(stored(filegroup="O'Brien"))) == 50223
    assert "has no filegroup 'O'Brien', which [landing] names" in bare.sa.errors[0].text
    assert bare.rows("SELECT 1 FROM sys.schemas WHERE name = N'audit';") == []
