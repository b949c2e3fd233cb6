"""Tables, table types and indexes, read from the statements that make them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from redial.deploy.fingerprint.expressions import shape
from redial.deploy.fingerprint.model import (
    AS_WRITTEN,
    OFF,
    ON,
    Catalog,
    Thing,
    switch,
    written,
)
from redial.tsql.ast import (
    AlterIndex,
    CheckConstraint,
    ColumnDef,
    ColumnRef,
    CreateIndex,
    CreateTable,
    CreateTableType,
    DataType,
    DefaultConstraint,
    Identifier,
    KeyConstraint,
    Node,
    ObjectName,
    Option,
    OrderItem,
    TableElement,
    TableIndex,
)

PRIMARY = "primary key"
"""Name of a key whose name the server makes: a table type's."""
INCREMENTAL = "incremental"
"""Of an index's statistics: by partition."""
NO_COMPRESSION = "none"
UNPARTITIONED = 1
_ROWVERSION = "timestamp"
_LENGTH_ONE = frozenset({"varbinary", "binary", "varchar", "char", "nvarchar", "nchar"})
_SCALE_SEVEN = frozenset({"datetime2", "time", "datetimeoffset"})
INDEX_OPTIONS = {
    "ALLOW_ROW_LOCKS": "row locks",
    "ALLOW_PAGE_LOCKS": "page locks",
    "IGNORE_DUP_KEY": "ignores duplicates",
    "PAD_INDEX": "padded",
    "FILLFACTOR": "fill factor",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY": "sequential",
    "DATA_COMPRESSION": "compression",
}
"""What an option is called here."""


_KINDS: dict[type[Node], str] = {
    ColumnDef: "column",
    KeyConstraint: "index",
    CheckConstraint: "check",
}
"""Elements of a table that ALTER TABLE can add."""


class Tables:
    """Notes tables in a catalog. local: a name as things of the model are called."""

    def __init__(self, catalog: Catalog, local: Callable[[ObjectName], str]) -> None:
        self.catalog = catalog
        self.local = local
        self.text = ""
        """Of the batch that is read."""

    def table(self, node: CreateTable) -> None:
        """A table."""
        name = self.local(node.name)
        own = self.catalog.setdefault(Thing("table", name), {})
        own.setdefault("lock escalation", "table")
        own |= {"special": "", "owner": ""}
        self._elements(name, node.elements)
        for element in node.elements:
            self._written(element, name)
        columns = [one.name for one in node.elements if isinstance(one, ColumnDef)]
        for number, column in enumerate(columns, 1):
            self.catalog[Thing("column", column, name)][written("place")] = str(number)

    def table_type(self, node: CreateTableType) -> None:
        """A table type."""
        name = self.local(node.name)
        self.catalog[Thing("type", name)] = {"owner": "", "kept in": "tempdb"}
        self._elements(name, node.elements)

    def index(self, node: CreateIndex) -> None:
        """An index made by a statement of its own."""
        self._index(
            self.local(node.table),
            node.name,
            "index",
            unique=node.unique,
            clustered=bool(node.clustered),
            columns=node.columns,
            include=node.include or (),
            where=node.where,
            options=node.options or (),
        )
        thing = Thing("index", node.name, self.local(node.table))
        self.catalog[thing][AS_WRITTEN] = self._text_of(node)

    def _text_of(self, node: Node) -> str:
        """What the file says, in one line."""
        text = re.sub(r"/\*.*?\*/", " ", self.text[node.pos : node.end], flags=re.DOTALL)
        return " ".join(text.split())

    def _written(self, element: TableElement, table: str) -> None:
        """Keep the text of a column, key or check, which ALTER TABLE can add."""
        kind = _KINDS.get(type(element))
        own = self.catalog.get(Thing(kind or "", getattr(element, "name", None) or "", table))
        if own is not None:
            own[AS_WRITTEN] = self._text_of(element)
        for constraint in getattr(element, "constraints", None) or ():
            if isinstance(constraint, DefaultConstraint) and own is not None:
                own[written("default")] = self._text_of(constraint.value)
            else:
                self._written(constraint, table)

    def change_index(self, node: AlterIndex) -> None:
        """ALTER INDEX .. SET."""
        thing = Thing("index", node.name or "", self.local(node.table))
        self.catalog.setdefault(thing, {}).update(_options(node.options))

    def _elements(self, table: str, elements: Iterable[TableElement]) -> None:
        for element in elements:
            if isinstance(element, ColumnDef):
                self._column(table, element)
            elif isinstance(element, KeyConstraint):
                self._key(table, element, [])
            elif isinstance(element, CheckConstraint):
                self._check(table, element)
            elif isinstance(element, TableIndex):
                self._table_index(table, element)

    def _column(self, table: str, column: ColumnDef) -> None:
        properties = {
            "type": type_text(column.data_type),
            "nullable": switch(column.nullable is not False),
            "identity": _identity(column),
            "computed": "",
            "default": "",
            "default's name": "",
            "collation": column.collation or "",
            "special": "",
        }
        for constraint in column.constraints or ():
            if isinstance(constraint, DefaultConstraint):
                properties["default"] = shape(constraint.value)
                properties["default's name"] = constraint.name or ""
            elif isinstance(constraint, KeyConstraint):
                self._key(table, constraint, [column.name])
                properties["nullable"] = OFF if constraint.primary else properties["nullable"]
            elif isinstance(constraint, CheckConstraint):
                self._check(table, constraint)
        self.catalog[Thing("column", column.name, table)] = properties

    def _check(self, table: str, check: CheckConstraint) -> None:
        self.catalog[Thing("check", check.name or "", table)] = {
            "condition": shape(check.condition),
            written("condition"): self._text_of(check.condition),
            "in force": ON,
            "trusted": ON,
            "for replication": ON,
        }

    def _key(self, table: str, key: KeyConstraint, columns: list[str]) -> None:
        self._index(
            table,
            key.name or (PRIMARY if key.primary else "key"),
            PRIMARY if key.primary else "unique constraint",
            unique=True,
            clustered=key.primary if key.clustered is None else key.clustered,
            columns=key.columns or columns,
            options=key.options,
        )

    def _table_index(self, table: str, index: TableIndex) -> None:
        self._index(
            table,
            index.name,
            "index",
            unique=index.unique,
            clustered=bool(index.clustered),
            columns=index.columns or (),
            include=index.include,
            where=index.where,
            options=index.options,
        )

    def _index(
        self,
        table: str,
        name: str,
        role: str,
        *,
        unique: bool,
        clustered: bool,
        columns: Sequence[OrderItem | str],
        include: Sequence[str] = (),
        where: Node | None = None,
        options: Sequence[Option] = (),
    ) -> None:
        # Of Landing only where it is said: as_is is whoever's choice.
        unsaid = {} if table == "Landing" else {"compression": NO_COMPRESSION}
        self.catalog[Thing("index", name, table)] = {
            "role": role,
            "unique": switch(unique),
            "clustered": switch(clustered),
            "columns": ", ".join(_key_column(column) for column in columns),
            "included": ", ".join(sorted(include)),
            "filter": shape(where) if where else "",
            written("filter"): self._text_of(where) if where else "",
            "row locks": ON,
            "page locks": ON,
            "ignores duplicates": OFF,
            "padded": OFF,
            "fill factor": "0",
            "sequential": OFF,
            "in use": ON,
            "statistics": "recomputed",
            "partitions": str(UNPARTITIONED),
            **unsaid,
        } | _options(options)


def _identity(column: ColumnDef) -> str:
    """Seed and step; empty for a column that is none."""
    if column.identity is None:
        return ""
    identity = column.identity
    seed, step = (shape(one) if one else "1" for one in (identity.seed, identity.increment))
    return f"{seed}, {step}"


def _key_column(column: OrderItem | str) -> str:
    if isinstance(column, str):
        return column
    assert isinstance(column.value, ColumnRef)
    return column.value.parts[-1] + (" descending" if column.descending else "")


def _options(options: Iterable[Option]) -> dict[str, str]:
    """Options that the catalog keeps."""
    return {
        INDEX_OPTIONS[option.name]: switch(option.value)
        if isinstance(option.value, bool)
        else _word(option.value)
        for option in options
        if option.name in INDEX_OPTIONS
    }


def _word(value: object) -> str:
    """A number, or a word such as PAGE."""
    return (
        value.text.lower() if isinstance(value, Identifier) else str(getattr(value, "value", value))
    )


def type_text(data_type: DataType) -> str:
    """A type as the catalog would name it: lengths written out, rowversion by its old name."""
    name = data_type.name.name.lower()
    if name == "rowversion":
        return _ROWVERSION
    arguments = [str(one).lower() for one in data_type.arguments]
    if not arguments and name in _LENGTH_ONE:
        arguments = ["1"]
    if not arguments and name in _SCALE_SEVEN:
        arguments = ["7"]
    if name in ("decimal", "numeric"):
        arguments += ["18", "0"][len(arguments) :]
    return name + (f"({', '.join(arguments)})" if arguments else "")
