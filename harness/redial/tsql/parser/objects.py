"""Indexes, statistics, types, sequences, schemas, synonyms, XML schema collections, DROP."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from redial.tsql.ast import (
    AlterIndex,
    AlterSchemaTransfer,
    AlterSequence,
    AlterXmlSchemaCollection,
    CreateIndex,
    CreateSchema,
    CreateSequence,
    CreateStatistics,
    CreateSynonym,
    CreateTableType,
    CreateTypeAlias,
    CreateXmlSchemaCollection,
    DropIndex,
    DropIndexItem,
    DropObject,
    EnableTrigger,
    Expression,
    Identifier,
    ObjectName,
    Option,
    Statement,
    UpdateStatistics,
)
from redial.tsql.lexer import VARIABLE, WORD
from redial.tsql.parser.broker_ddl import BrokerDdlParser

_SEQUENCE_WORDS = ("START", "RESTART", "INCREMENT", "MINVALUE", "MAXVALUE", "CYCLE", "CACHE", "NO")

_PLAIN_DROPS = {
    **dict.fromkeys(("TABLE", "VIEW", "PROC", "PROCEDURE", "FUNCTION", "SEQUENCE"), True),
    **dict.fromkeys(("SYNONYM", "TRIGGER", "TYPE", "SCHEMA", "DATABASE", "USER", "ROLE"), True),
    **dict.fromkeys(("LOGIN", "QUEUE", "SERVICE", "CONTRACT", "ROUTE", "ENDPOINT"), False),
    **dict.fromkeys(("CERTIFICATE", "CREDENTIAL", "STATISTICS"), False),
}
"""DROP of kinds of one word, and whether IF EXISTS may follow (pages of the DROP statements)."""

_LONG_DROPS = {
    "MESSAGE": ("TYPE",),
    "BROKER": ("PRIORITY",),
    "EVENT": ("NOTIFICATION",),
    "REMOTE": ("SERVICE", "BINDING"),
    "XML": ("SCHEMA", "COLLECTION"),
    "MASTER": ("KEY",),
    "SYMMETRIC": ("KEY",),
    "ASYMMETRIC": ("KEY",),
    "SERVER": ("ROLE",),
}
_LISTS = frozenset(
    {
        *("TABLE", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "SEQUENCE", "SYNONYM", "DATABASE"),
        "STATISTICS",
    }
)
"""Kinds of which one DROP takes several names."""


class ObjectParser(BrokerDdlParser):
    """Objects that are neither tables, modules nor broker objects."""

    def signature(self, start: int) -> Statement:
        """Read ADD|DROP [COUNTER] SIGNATURE."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------ indexes
    def index(self, start: int, verb: str) -> Statement:
        """Read CREATE INDEX in all its spellings, or ALTER INDEX."""
        if verb == "ALTER":
            return self._alter_index(start)
        unique = self.accept("UNIQUE")
        clustered = self._clustered()
        kind = self.accept_any("COLUMNSTORE")
        self.expect("INDEX")
        name = self.name()
        self.expect("ON")
        table = self.object_name(3)
        columns = []
        if not kind or self.words[self.i] == "(":
            columns = self.parenthesised(self.key_column)
        index = CreateIndex(start, start, name, table, columns, unique, clustered, kind)
        if self.accept("INCLUDE"):
            index.include = self.name_list()
        if not clustered and self.accept("WHERE"):
            index.where = self.condition()
        if self.accept("WITH"):
            index.options = self.index_options()
        index.filegroup = self.filegroup()
        index.end = self.last_end()
        return index

    def xml_index(self, start: int, verb: str) -> Statement:
        """Read [PRIMARY] XML INDEX, or XML SCHEMA COLLECTION."""
        if self.words[self.i + 1] == "SCHEMA":
            return self._xml_schema_collection(start, verb)
        kind = "PRIMARY XML" if self.accept("PRIMARY") else "XML"
        self.expect("XML", "INDEX")
        name = self.name()
        self.expect("ON")
        table = self.object_name(3)
        columns = self.parenthesised(self.key_column)
        index = CreateIndex(start, start, name, table, columns, kind=kind)
        if self.accept_all("USING", "XML", "INDEX"):
            primary = self.name()
            self.expect("FOR")
            index.using = [primary, self.expect_any("VALUE", "PATH", "PROPERTY")]
        if self.accept("WITH"):
            index.options = self.option_list()
        index.end = self.last_end()
        return index

    def _alter_index(self, start: int) -> AlterIndex:
        self.expect("INDEX")
        name = None if self.accept("ALL") else self.name()
        self.expect("ON")
        table = self.object_name(3)
        action = self.expect_any("REBUILD", "REORGANIZE", "DISABLE", "SET")
        if self.words[self.i] == "PARTITION":
            self.not_supported("ALTER INDEX of a partition")
        options: list[Option] = []
        if action == "SET" or self.accept("WITH"):
            options = self.option_list()
        return AlterIndex(start, self.last_end(), name, table, action, options)

    def create_statistics(self, start: int, verb: str) -> Statement:
        """Read STATISTICS; there is no ALTER."""
        if verb != "CREATE":
            self.unexpected()
        self.expect("STATISTICS")
        name = self.name()
        self.expect("ON")
        table = self.object_name(3)
        columns = self.name_list()
        if self.words[self.i] == "WHERE":
            self.not_supported("filtered statistics")
        options = self._statistics_options()
        return CreateStatistics(start, self.last_end(), name, table, columns, options)

    def update_statistics(self, start: int) -> UpdateStatistics:
        """Read UPDATE STATISTICS."""
        self.expect("UPDATE", "STATISTICS")
        table = self.object_name(3)
        names: list[str] = []
        if self.words[self.i] == "(":
            names = self.name_list()
        elif self.at_identifier():
            names = [self.name()]
        options = self._statistics_options()
        return UpdateStatistics(start, self.last_end(), table, names, options)

    def _statistics_options(self) -> list[Option]:
        return self.list_of(self._statistics_option) if self.accept("WITH") else []

    def _statistics_option(self) -> Option:
        """Read FULLSCAN, SAMPLE n PERCENT|ROWS, NORECOMPUTE, INCREMENTAL = ON ..."""
        option = Option(self.starts[self.i], self.ends[self.i], self.word())
        self.option_value(option)
        option.unit = self.accept_any("PERCENT", "ROWS") or option.unit
        option.end = self.last_end()
        return option

    # -------------------------------------------------------------------- types, sequences, schemas
    def type_(self, start: int, verb: str) -> Statement:
        """Read TYPE; there is no ALTER."""
        if verb != "CREATE":
            self.unexpected()
        self.expect("TYPE")
        name = self.object_name(2)
        if self.accept("FROM"):
            base = self.data_type()
            nullable = None
            if self.accept_all("NOT", "NULL"):
                nullable = False
            elif self.accept("NULL"):
                nullable = True
            return CreateTypeAlias(start, self.last_end(), name, base, nullable)
        if self.words[self.i] == "EXTERNAL":
            self.not_supported("CLR types")
        self.expect("AS", "TABLE")
        elements = self.table_elements()
        if self.words[self.i] == "WITH" and self.words[self.i + 1] == "(":
            self.not_supported("memory-optimized table types")
        return CreateTableType(start, self.last_end(), name, elements)

    def sequence(self, start: int, verb: str) -> Statement:
        """Read SEQUENCE."""
        self.expect("SEQUENCE")
        name = self.object_name(2)
        data_type = self.data_type() if verb == "CREATE" and self.accept("AS") else None
        options: list[Option] = []
        while self.words[self.i] in _SEQUENCE_WORDS:
            options.append(self._sequence_option())
            if verb == "CREATE" and data_type is None and self.accept("AS"):
                data_type = self.data_type()
        kind = CreateSequence if verb == "CREATE" else AlterSequence
        return kind(start, self.last_end(), name, data_type, options)

    def _sequence_option(self) -> Option:
        start = self.starts[self.i]
        if self.accept("NO"):
            name = self.expect_any("MINVALUE", "MAXVALUE", "CYCLE", "CACHE")
            return Option(start, self.last_end(), name, False)
        name = self.expect_any(*_SEQUENCE_WORDS)
        value: Expression | bool = True
        if name == "INCREMENT":
            self.expect("BY")
            value = self.signed_number()
        elif name in ("MINVALUE", "MAXVALUE"):
            value = self.signed_number()
        elif name == "START" or (name == "RESTART" and self.words[self.i] == "WITH"):
            self.expect("WITH")
            value = self.signed_number()
        elif name == "CACHE" and self.kinds[self.i] != WORD and self.raw(self.i).isdigit():
            value = self.integer()
        return Option(start, self.last_end(), name, value)

    def schema(self, start: int, verb: str) -> Statement:
        """Read CREATE SCHEMA with its elements, or ALTER SCHEMA .. TRANSFER."""
        if verb == "ALTER":
            return self._transfer(start)
        self.require_batch_start("CREATE SCHEMA")
        self.expect("SCHEMA")
        if TYPE_CHECKING:
            owner: Identifier | None
        if self.accept("AUTHORIZATION"):
            name = owner = self.identifier()
        else:
            name = self.identifier()
            owner = self.owner()
        statements = []
        self.in_schema = True
        while self.words[self.i] in ("CREATE", "GRANT", "DENY", "REVOKE"):
            statements.append(self.statement(fresh=False))
        self.in_schema = False
        return CreateSchema(start, self.last_end(), name, owner, statements)

    def _transfer(self, start: int) -> AlterSchemaTransfer:
        self.expect("SCHEMA")
        name = self.identifier()
        self.expect("TRANSFER")
        kind = None
        if self.words[self.i + 1] == "::":
            kind = self.expect_any("OBJECT", "TYPE")
            self.i += 1
        elif self.accept_all("XML", "SCHEMA", "COLLECTION", "::"):
            kind = "XML SCHEMA COLLECTION"
        target = self.object_name(2)
        return AlterSchemaTransfer(start, self.last_end(), name, kind, target)

    def synonym(self, start: int, verb: str) -> Statement:
        """Read SYNONYM; there is no ALTER."""
        if verb != "CREATE":
            self.unexpected()
        self.expect("SYNONYM")
        name = self.object_name(2)
        self.expect("FOR")
        target = self.object_name(4)
        return CreateSynonym(start, self.last_end(), name, target)

    def _xml_schema_collection(self, start: int, verb: str) -> Statement:
        self.expect("XML", "SCHEMA", "COLLECTION")
        name = self.object_name(2)
        self.expect("AS" if verb == "CREATE" else "ADD")
        schema: Expression = (
            self.variable() if self.kinds[self.i] == VARIABLE else self.expression()
        )
        kind = CreateXmlSchemaCollection if verb == "CREATE" else AlterXmlSchemaCollection
        return kind(start, self.last_end(), name, schema)

    def enable_trigger(self, start: int) -> EnableTrigger:
        """Read ENABLE TRIGGER or DISABLE TRIGGER."""
        enable = self.expect_any("ENABLE", "DISABLE") == "ENABLE"
        self.expect("TRIGGER")
        names = [] if self.accept("ALL") else self.list_of(self.object_name)
        self.expect("ON")
        target: ObjectName | str
        if self.accept_all("ALL", "SERVER"):
            target = "ALL SERVER"
        else:
            target = "DATABASE" if self.accept("DATABASE") else self.object_name(3)
        return EnableTrigger(start, self.last_end(), enable, names, target)

    # --------------------------------------------------------------------------------------- DROP
    def drop(self, start: int) -> Statement:
        """Read DROP of anything."""
        self.i += 1
        if self.words[self.i] in ("SIGNATURE", "COUNTER"):
            self.i -= 1
            return self.signature(start)
        at = self.i
        kind = self.word()
        if kind == "INDEX":
            return self._drop_index(start)
        may_be_absent = _PLAIN_DROPS.get(kind, False)
        if kind in _LONG_DROPS:
            self.expect(*_LONG_DROPS[kind])
            kind = " ".join((kind, *_LONG_DROPS[kind]))
        elif kind not in _PLAIN_DROPS:
            self.i = at
            self.unknown_object()
        if kind == "EVENT NOTIFICATION":
            return self.drop_event_notification(start)
        kind = "PROCEDURE" if kind == "PROC" else kind
        if_exists = may_be_absent and self.if_exists()
        names: list[ObjectName] = []
        if kind in _LISTS:
            names = self.list_of(self.object_name)
        elif kind != "MASTER KEY":
            names = [self.object_name()]
        on = self._trigger_scope() if kind == "TRIGGER" else None
        return DropObject(start, self.last_end(), kind, names, if_exists, on)

    def _trigger_scope(self) -> str | None:
        if self.accept_all("ON", "DATABASE"):
            return "DATABASE"
        if self.accept_all("ON", "ALL", "SERVER"):
            return "ALL SERVER"
        return None

    def unknown_object(self) -> NoReturn:
        """Raise for a word that names no kind of object we take."""
        raise NotImplementedError

    def _drop_index(self, start: int) -> DropIndex:
        if_exists = self.if_exists()
        items = self.list_of(self._drop_index_item)
        return DropIndex(start, self.last_end(), items, if_exists)

    def _drop_index_item(self) -> DropIndexItem:
        start = self.starts[self.i]
        name = self.object_name(4)
        if len(name.parts) > 1:
            table = ObjectName(name.pos, name.end, name.parts[:-1])
            return DropIndexItem(start, name.end, name.name, table)
        self.expect("ON")
        table = self.object_name(3)
        if self.words[self.i] == "WITH" and self.words[self.i + 1] == "(":
            self.not_supported("DROP INDEX WITH options")
        return DropIndexItem(start, self.last_end(), name.name, table)
