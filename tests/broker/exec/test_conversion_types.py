"""Types as scripts write them."""

import pytest

from redial.tsql.ast import DataType, ObjectName
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import nvarchar
from redial_broker.exec.conversion import resolve_type


def named(name, *arguments):
    return DataType(0, 0, ObjectName(0, 0, tuple(name.split("."))), arguments)


@pytest.mark.parametrize(
    ("node", "context", "of"),
    [
        (named("VARCHAR"), "declare", "varchar(1)"),
        (named("varchar"), "cast", "varchar(30)"),
        (named("varbinary"), "column", "varbinary(1)"),
        (named("nvarchar"), "cast", "nvarchar(30)"),
        (named("NVARCHAR", "MAX"), "declare", "nvarchar(max)"),
        (named("sysname"), "cast", "nvarchar(128)"),
        (named("decimal"), "declare", "decimal(18,0)"),
        (named("numeric", 9, 2), "declare", "numeric(9,2)"),
        (named("datetime2"), "declare", "datetime2(7)"),
        (named("time", 0), "declare", "time(0)"),
        (named("timestamp"), "column", "rowversion(8)"),
        (named("integer"), "declare", "int"),
        (named("float", 24), "declare", "real"),
        (named("float", 53), "declare", "float"),
        (named("double precision"), "declare", "float"),
        (named("sys.int"), "declare", "int"),
        (named("char varying", 5), "declare", "varchar(5)"),
        (named("xml"), "declare", "xml"),
    ],
)
def test_names_and_lengths(node, context, of):
    assert str(resolve_type(node, context)) == of


@pytest.mark.parametrize(
    ("node", "number"),
    [
        (named("nvarchar", 4001), 131),
        (named("varchar", 0), 1001),
        (named("decimal", 39), 2750),
        (named("decimal", 5, 6), 183),
        (named("datetime2", 8), 1002),
        (named("nonsense"), 243),
        (named("char", "MAX"), 102),
    ],
)
def test_types_that_cannot_be(node, number):
    with pytest.raises(SqlError) as caught:
        resolve_type(node)
    assert caught.value.number == number


def test_an_alias_type_is_looked_up():
    def found(schema, name):
        return nvarchar(20) if (schema, name) == ("dbo", "Phone") else None

    assert resolve_type(named("dbo.Phone"), user_type=found) is nvarchar(20)
    with pytest.raises(SqlError):
        resolve_type(named("dbo.Fax"), user_type=found)


def test_clr_types_and_schema_collections_are_refused_by_name():
    for node, text in [
        (named("geography"), "geography"),
        (named("xml", ObjectName(0, 0, ("c",))), "schema collection"),
    ]:
        with pytest.raises(NotSupported) as caught:
            resolve_type(node)
        assert text in caught.value.text
