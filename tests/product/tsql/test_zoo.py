"""Every statement form once: taken as what it is, or refused where the server stumbles."""

import pytest

from redial.tsql import TsqlSyntaxError, parse_batch
from redial.tsql.ast import Node, Statement, structure
from tests.product.tsql import zoo


@pytest.mark.parametrize(("sql", "classes"), zoo.accepted())
def test_a_batch_becomes_the_statements_it_is_made_of(sql, classes):
    batch = parse_batch(sql)
    assert [type(statement).__name__ for statement in batch.statements] == classes.split()


@pytest.mark.parametrize(("sql", "classes"), zoo.accepted())
def test_every_node_lies_inside_the_text_and_inside_its_parent(sql, classes):
    def check(node: Node) -> None:
        assert 0 <= node.pos <= node.end <= len(sql)
        for child in node.children():
            assert node.pos <= child.pos, (node, child)
            assert child.end <= node.end, (node, child)
            check(child)

    check(parse_batch(sql))


@pytest.mark.parametrize(("sql", "classes"), zoo.accepted())
def test_layout_and_case_of_keywords_do_not_change_the_tree(sql, classes):
    spread = parse_batch("\n\t/* a /* b */ */ " + sql + " -- end")
    assert structure(spread.statements) == structure(parse_batch(sql).statements)


@pytest.mark.parametrize(("sql", "classes"), zoo.accepted())
def test_a_statement_cut_out_by_its_positions_parses_to_the_same_tree(sql, classes):
    batch = parse_batch(sql)
    for statement in batch.statements:
        text = batch.source.slice(statement) + (";" if statement.terminated else "")
        if classes in ("Goto Label",):  # a label alone lacks its GOTO and the other way round
            continue
        again = parse_batch(text).statements
        assert structure(again) == structure([statement])


@pytest.mark.parametrize(("sql", "expected"), zoo.read("refused"))
def test_a_wrong_batch_is_refused_with_number_and_position(sql, expected):
    with pytest.raises(TsqlSyntaxError) as caught:
        parse_batch(sql)
    error = caught.value
    assert f"{error.number} {error.line}:{error.column}" == expected


def test_the_zoo_holds_every_statement_class_of_the_tree():
    from redial.tsql import ast

    bases = {
        *("Statement", "ModuleDefinition", "MessageTypeDefinition"),
        *("RouteDefinition", "BrokerPriorityDefinition", "EndpointDefinition"),
    }
    known = {
        name
        for name in ast.__all__
        if isinstance(cls := getattr(ast, name), type) and issubclass(cls, Statement)
    }
    met = {
        type(node).__name__
        for sql, _ in zoo.accepted()
        for node in parse_batch(sql).walk()
        if isinstance(node, Statement)
    }
    assert known - bases - met == set()
