"""sys.dm_exec_describe_first_result_set and ..._for_object (their pages).

Where the procedure fails the functions give one row with the error in its last columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.catalog.procedures.arguments import result_columns
from redial_broker.catalog.procedures.first_result import COLUMNS, describe_row, first_result
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import INT, NVARCHAR_MAX, TINYINT
from redial_broker.exec.objects import TABLE_FUNCTIONS, Procedure

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_SHARED = 35
"""Columns up to order_by_is_descending; the ones about TDS are the procedure's alone."""

_ERROR = result_columns("""
error_number int?
error_severity int?
error_state int?
error_message nvarchar(4000)?
error_type int?
error_type_desc nvarchar(60)?""")
_ALL = [*COLUMNS[:_SHARED], *_ERROR]


def describe(session: SessionState, text: str, definitions: str) -> list[RowValues]:
    """A row per column of the first result, or one with the error."""
    try:
        found = first_result(session, text, definitions) or []
    except NotSupported:
        raise
    except SqlError as error:
        nothing: list[int | None] = [None] * _SHARED
        nothing[0], nothing[1] = 0, 0
        return [(*nothing, error.number, error.severity, error.state, error.text, 1, "MISC")]
    return [(*describe_row(n, column)[:_SHARED], *[None] * 6) for n, column in enumerate(found, 1)]


def of_text(session: SessionState, values: list[Any]) -> list[RowValues]:
    """(tsql, params, browse information mode)."""
    if len(values) > 2 and values[2]:
        raise NotSupported("sys.dm_exec_describe_first_result_set with browse information")
    return describe(session, str(values[0] or ""), str(values[1] or "") if len(values) > 1 else "")


def of_object(session: SessionState, values: list[Any]) -> list[RowValues]:
    """(object id, browse information mode) of a procedure."""
    if len(values) > 1 and values[1]:
        raise NotSupported(
            "sys.dm_exec_describe_first_result_set_for_object with browse information"
        )
    found = session.database.object_by_id(int(values[0] or 0))
    if not isinstance(found, Procedure):
        return []
    return describe(session, f"EXECUTE [{found.schema}].[{found.name}]", "")


TABLE_FUNCTIONS["dm_exec_describe_first_result_set"] = (
    _ALL,
    of_text,
    (NVARCHAR_MAX, NVARCHAR_MAX, TINYINT),
)
TABLE_FUNCTIONS["dm_exec_describe_first_result_set_for_object"] = (_ALL, of_object, (INT, TINYINT))
