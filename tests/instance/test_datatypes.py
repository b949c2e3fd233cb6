"""sp_datatype_info, which pyodbc reads before its first statement."""

import pytest

from harness.broker.engine.types import SMALLINT
from harness.broker.instance import datatypes
from harness.broker.instance.instance import Instance
from harness.broker.instance.requests import Rpc, RpcParam


@pytest.fixture
def session():
    return Instance().connect()


@pytest.mark.parametrize(
    ("number", "name", "precision"),
    [
        (12, "varchar", 8000),
        (-9, "nvarchar", 4000),
        (-3, "varbinary", 8000),
        (93, "datetime2", 27),
    ],
)
def test_the_first_row_of_a_type_has_the_precision_pyodbc_relies_on(
    session, number, name, precision
):
    session.submit(Rpc("[sys].sp_datatype_info_100", [RpcParam("", SMALLINT, number)]))
    session.instance.run()
    assert session.sink.rows()[0][:3] == (name, number, precision)
    assert session.sink.status == 0


def test_without_a_number_every_type_is_listed(session):
    answer = session.execute("sp_datatype_info_100")
    assert len(answer.rows()) == len(datatypes.DATA_TYPES)


def test_it_can_be_called_as_text_with_bare_arguments(session):
    assert session.execute("sp_datatype_info_100 12,3").rows()[0][0] == "varchar"


def test_every_row_has_every_column():
    assert {len(row) for row in datatypes.rows()} == {len(datatypes.COLUMNS)}
