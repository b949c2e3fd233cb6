"""What may stand in ORDER BY, GROUP BY and HAVING (their pages; errors-events numbers)."""

import pytest


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("SELECT id FROM person ORDER BY id, id", 169),
        ("SELECT id FROM person ORDER BY 1, id", 169),
        ("SELECT id FROM person ORDER BY team, name, person.team DESC", 169),
        ("SELECT id AS x FROM person ORDER BY x, person.id", 169),
        ("SELECT id FROM person ORDER BY -1", 408),
        ("SELECT id FROM person ORDER BY 1 + 1", 408),
        ("DECLARE @a int = 1; SELECT id FROM person ORDER BY @a", 1008),
        ("DECLARE @a int = 1; SELECT id FROM person ORDER BY @a + 1", 1008),
        ("SELECT 1 FROM person GROUP BY (SELECT 1)", 144),
        ("SELECT 1 FROM person GROUP BY COUNT(*)", 144),
        ("SELECT 1 FROM person GROUP BY @@SPID", 164),
        ("SELECT team FROM person GROUP BY team HAVING score > 1", 8121),
        ("SELECT team FROM person GROUP BY team ORDER BY score", 8127),
        ("SELECT COUNT(*) FROM person ORDER BY team", 8127),
        ("SELECT score FROM person GROUP BY team", 8120),
    ],
)
def test_another_item_is_refused_by_its_clause(lab, query, number):
    assert lab.error(query) == number


def test_a_subquery_and_a_function_order_rows(lab):
    assert len(lab.rows("SELECT id FROM person ORDER BY (SELECT NULL), NEWID()")) == 4
