"""sp_datatype_info, which pyodbc reads before its first statement."""

import pytest

from redial_broker.catalog.procedures.types import COLUMNS, TYPES
from redial_broker.engine.types import SMALLINT
from redial_broker.instance.requests import Rpc, RpcParam


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
    session.sink.clear()
    session.submit(
        Rpc(
            "[sys].sp_datatype_info_100",
            [RpcParam("", SMALLINT, number), RpcParam("@ODBCVer", SMALLINT, 4)],
        )
    )
    session.instance.run()
    assert session.sink.rows()[0][:3] == (name, number, precision)
    assert session.sink.status == 0


def test_without_a_number_every_type_is_listed_with_the_identity_forms(session):
    names = [row[0] for row in session.execute("sp_datatype_info_100").rows()]
    assert {item.name for item in TYPES} <= set(names)
    assert "int identity" in names


def test_it_can_be_called_as_text_with_bare_arguments(session):
    assert session.execute("sp_datatype_info_100 12,3").rows()[0][0] == "varchar"


def test_an_odbc_2_driver_hears_its_own_number_for_timestamps(session):
    assert session.execute("sp_datatype_info_100 93, 2").rows()[0][1] == 11


def test_an_old_driver_sees_datetime2_as_text(session):
    rows = session.execute("sp_datatype_info -9, 3").rows()
    assert "datetime2" in [row[0] for row in rows]


def test_every_row_has_every_column(session):
    answer = session.execute("sp_datatype_info_100")
    assert {len(row) for row in answer.rows()} == {len(COLUMNS)}
