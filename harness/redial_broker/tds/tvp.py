"""Table-valued parameters (MS-TDS 2.2.5.5.5): column metadata, order, rows."""

from __future__ import annotations

from redial_broker.engine.types import ResultColumn
from redial_broker.instance.requests import TableValue
from redial_broker.tds import constants as c
from redial_broker.tds.decoders import WireType, read_type
from redial_broker.tds.packets import ProtocolError
from redial_broker.tds.reader import Reader

_NO_METADATA = 0xFFFF
_END, _ROW, _UNIQUE, _ORDERING = 0x00, 0x01, 0x10, 0x11
_DEFAULT = 0x0200
_COLUMNS_MAX = 1024


def read_table(reader: Reader) -> TableValue | None:
    """A table value, behind its type id; None when the client passed no table at all.

    Raises ProtocolError for anything malformed. Columns come in the order of the table type.
    """
    reader.b_varchar()  # database: must be empty or the current one, the instance resolves names
    schema, name = reader.b_varchar(), reader.b_varchar()
    count = reader.u16()
    if count == _NO_METADATA:
        if reader.u8() != _END or reader.u8() != _END:
            raise ProtocolError("table-valued parameter without columns but with contents")
        return TableValue(schema, name)
    if not 1 <= count <= _COLUMNS_MAX:
        raise ProtocolError(f"table-valued parameter of {count} columns")
    columns, types, defaults = _columns(reader, count)
    ordering = _optional_metadata(reader, count)
    rows = _rows(reader, types, defaults)
    if ordering:
        # The client's i-th column is the type's ordering[i]-th (counted from 1).
        order = sorted(range(count), key=ordering.__getitem__)
        columns = [columns[i] for i in order]
        rows = [tuple(row[i] for i in order) for row in rows]
        defaults = frozenset(order.index(i) for i in defaults)
    return TableValue(schema, name, tuple(columns), tuple(rows), defaults)


def _columns(
    reader: Reader, count: int
) -> tuple[list[ResultColumn], list[WireType], frozenset[int]]:
    columns, types, defaults = [], [], set()
    for index in range(count):
        reader.u32()  # user type
        flags = reader.u16()
        wire = read_type(reader)
        name = reader.b_varchar()
        types.append(wire)
        columns.append(
            ResultColumn(
                name, wire.sql, bool(flags & c.COLUMN_NULLABLE), bool(flags & c.COLUMN_IDENTITY)
            )
        )
        if flags & _DEFAULT:
            defaults.add(index)
    return columns, types, frozenset(defaults)


def _optional_metadata(reader: Reader, count: int) -> list[int]:
    """Order hints are skipped (they only promise sorting); the column ordering is returned."""
    ordering: list[int] = []
    while (token := reader.u8()) != _END:
        if token == _UNIQUE:
            reader.take(reader.u16() * 3)
        elif token == _ORDERING:
            ordering = [reader.u16() for _ in range(reader.u16())]
            if sorted(ordering) != list(range(1, count + 1)):
                raise ProtocolError("column ordering of a table-valued parameter")
        else:
            raise ProtocolError(f"token {token:#x} in a table-valued parameter")
    return ordering


def _rows(
    reader: Reader, types: list[WireType], defaults: frozenset[int]
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    reads = [None if i in defaults else wire.read for i, wire in enumerate(types)]
    while (token := reader.u8()) != _END:
        if token != _ROW:
            raise ProtocolError(f"token {token:#x} where a row was expected")
        rows.append(tuple([None if read is None else read(reader) for read in reads]))
    return rows
