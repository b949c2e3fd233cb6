"""The tree itself: walking, comparing, slots."""

from redial.tsql import ast, parse_batch
from redial.tsql.ast import ColumnRef, Node, Variable, structure

SQL = "IF @a = 1 BEGIN SELECT b, @c FROM t WHERE d IN (@e, 2) END ELSE PRINT @f"


def test_walk_meets_every_node_parents_first_and_in_source_order():
    nodes = list(parse_batch(SQL).walk())
    names = [node.name for node in nodes if isinstance(node, Variable)]
    assert names == ["@a", "@c", "@e", "@f"]
    assert [node.parts for node in nodes if isinstance(node, ColumnRef)] == [("b",), ("d",)]
    assert len({id(node) for node in nodes}) == len(nodes)


def test_trees_compare_by_content_without_positions():
    spread = SQL.replace(" ", "\n  ").replace("END", "; END")
    assert structure(parse_batch(SQL).statements) == structure(parse_batch(spread).statements)
    other = SQL.replace("@f", "@g")
    assert structure(parse_batch(SQL).statements) != structure(parse_batch(other).statements)


def test_nodes_can_be_keys_because_they_compare_by_identity():
    first, second = (parse_batch("PRINT 1").statements[0] for _ in range(2))
    assert first != second
    assert len({first: 1, second: 2}) == 2


def test_every_node_class_has_slots_a_docstring_and_typed_fields():
    classes = [
        cls
        for name in ast.__all__
        if isinstance(cls := getattr(ast, name), type) and issubclass(cls, Node)
    ]
    assert len(classes) > 150
    for cls in classes:
        assert cls.__doc__, cls
        assert all("__slots__" in base.__dict__ for base in cls.__mro__[:-1]), cls
