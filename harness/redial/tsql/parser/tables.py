"""CREATE TABLE, ALTER TABLE, and table definitions in DECLARE, RETURNS and CREATE TYPE."""

from __future__ import annotations

from redial.tsql.ast import (
    AlterTableAdd,
    AlterTableAlterColumn,
    AlterTableConstraints,
    AlterTableDrop,
    AlterTableDropItem,
    AlterTableSet,
    AlterTableTriggers,
    CheckConstraint,
    ColumnDef,
    ComputedColumn,
    Constraint,
    CreateTable,
    DataType,
    DefaultConstraint,
    ForeignKey,
    IdentityProperty,
    KeyConstraint,
    ObjectName,
    Option,
    Statement,
    TableElement,
    TableIndex,
)
from redial.tsql.lexer import KEYWORD, OPERATOR
from redial.tsql.parser.options import OptionParser

_CONSTRAINT_WORDS = frozenset({"PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "DEFAULT", "REFERENCES"})
_REFUSED_COLUMN_WORDS = frozenset(
    {"GENERATED", "MASKED", "ENCRYPTED", "FILESTREAM", "COLUMN_SET", "HIDDEN"}
)
_OLD_INDEX_OPTIONS = (
    *("FILLFACTOR", "PAD_INDEX", "IGNORE_DUP_KEY", "DROP_EXISTING", "STATISTICS_NORECOMPUTE"),
    "SORT_IN_TEMPDB",
)


class TableParser(OptionParser):
    """Table definitions."""

    def create_table(self, start: int, verb: str) -> Statement:
        """Read CREATE TABLE or ALTER TABLE after the verb."""
        self.expect("TABLE")
        name = self.object_name(3)
        if verb == "ALTER":
            return self._alter_table(start, name)
        if self.words[self.i] == "AS":
            self.not_supported("CREATE TABLE AS")
        elements = self.table_elements()
        filegroup = self.filegroup()
        textimage = self.filegroup("TEXTIMAGE_ON")
        options = self.option_list() if self.accept("WITH") else []
        return CreateTable(start, self.last_end(), name, elements, filegroup, textimage, options)

    def table_elements(self) -> list[TableElement]:
        """Read the definition of a table in parentheses; a comma may close it."""
        self.expect("(")
        elements = [self._element()]
        while self.accept(","):
            if self.words[self.i] == ")":
                break
            elements.append(self._element())
        self.expect(")")
        return _with_own_columns(elements)

    def _element(self) -> TableElement:
        word = self.words[self.i]
        if word == "CONSTRAINT" or word in _CONSTRAINT_WORDS:
            return self.constraint(of_table=True)
        if word == "INDEX":
            return self._inline_index()
        if word == "PERIOD" and self.words[self.i + 1] == "FOR":
            self.not_supported("PERIOD FOR SYSTEM_TIME")
        return self.column_definition()

    # ------------------------------------------------------------------------------------ columns
    def column_definition(self) -> ColumnDef | ComputedColumn:
        """Read a column with its type and properties."""
        start = self.starts[self.i]
        name = self.name()
        if self.accept("AS"):
            return self._computed_column(start, name)
        column = ColumnDef(start, start, name, self._column_type(name))
        while self._column_property(column):
            pass
        column.end = self.last_end()
        return column

    def result_column(self) -> ColumnDef:
        """Read a column of rows, not of a table: ``name type [COLLATE c] [NULL | NOT NULL]``."""
        start = self.starts[self.i]
        name = self.name()
        column = ColumnDef(start, start, name, self._column_type(name))
        while self.words[self.i] in ("COLLATE", "NOT", "NULL") and self._column_property(column):
            pass
        column.end = self.last_end()
        return column

    def _column_type(self, name: str) -> DataType:
        bare = name.lower() == "timestamp" and self.kinds[self.i] in (OPERATOR, KEYWORD)
        return self._timestamp_type() if bare else self.data_type()

    def _timestamp_type(self) -> DataType:
        """A column called just ``timestamp`` has that type (timestamp page)."""
        self.i -= 1
        return self.data_type()

    def _computed_column(self, start: int, name: str) -> ComputedColumn:
        value = self.expression()
        persisted = self.accept("PERSISTED")
        nullable = None
        if persisted and self.accept_all("NOT", "NULL"):
            nullable = False
        constraints = []
        while self.words[self.i] == "CONSTRAINT" or self.words[self.i] in _CONSTRAINT_WORDS:
            constraints.append(self.constraint(of_table=False))
        end = self.last_end()
        return ComputedColumn(start, end, name, value, persisted, nullable, constraints or None)

    def _column_property(self, column: ColumnDef) -> bool:
        """Read one property into ``column``; False when there is none."""
        word, stated = self.words[self.i], column.nullable is not None
        if word == "NOT" and self.accept_all("NOT", "NULL"):
            column.nullable, column.restated = False, stated
        elif word == "NULL":
            self.i += 1
            column.nullable, column.restated = True, stated
        elif word == "IDENTITY":
            column.identity = self._identity()
        elif word == "COLLATE":
            self.i += 1
            column.collation = self.name()
        elif word == "ROWGUIDCOL":
            self.i += 1
            column.rowguidcol = True
        elif word == "SPARSE":
            self.i += 1
            column.sparse = True
        elif word == "CONSTRAINT" or word in _CONSTRAINT_WORDS or word == "INDEX":
            found = self._inline_index() if word == "INDEX" else self.constraint(of_table=False)
            column.constraints = [*(column.constraints or []), found]
        elif word in _REFUSED_COLUMN_WORDS:
            self.not_supported(f"{word} columns")
        else:
            return False
        return True

    # The function IDENTITY has a _identity too, which is called by its class's name.
    def _identity(self) -> IdentityProperty:  # type: ignore[override]
        start = self.starts[self.i]
        self.expect("IDENTITY")
        seed = increment = None
        if self.accept("("):
            seed = self.signed_number()
            self.expect(",")
            increment = self.signed_number()
            self.expect(")")
        replication = self.accept_all("NOT", "FOR", "REPLICATION")
        return IdentityProperty(start, self.last_end(), seed, increment, replication)

    # -------------------------------------------------------------------------------- constraints
    def constraint(self, of_table: bool) -> Constraint:
        """Read ``[CONSTRAINT name] ..``. of_table: it stands apart from a column."""
        start = self.starts[self.i]
        name = self.name() if self.accept("CONSTRAINT") else None
        word = self.words[self.i]
        if word in ("PRIMARY", "UNIQUE"):
            return self._key(start, name, of_table)
        if word == "FOREIGN" or (word == "REFERENCES" and not of_table):
            return self._foreign_key(start, name, of_table)
        if word == "CHECK":
            self.i += 1
            if self.words[self.i] == "NOT":
                self.not_supported("CHECK NOT FOR REPLICATION")
            self.expect("(")
            condition = self.condition()
            self.expect(")")
            return CheckConstraint(start, self.last_end(), name, condition)
        if word == "DEFAULT":
            return self._default_constraint(start, name)
        self.unexpected()

    def _default_constraint(self, start: int, name: str | None) -> DefaultConstraint:
        self.expect("DEFAULT")
        value = self.expression()
        column = self.name() if self.accept("FOR") else None
        with_values = self.accept_all("WITH", "VALUES")
        return DefaultConstraint(start, self.last_end(), name, value, column, with_values)

    def _clustered(self) -> bool | None:
        word = self.accept_any("CLUSTERED", "NONCLUSTERED")
        return word == "CLUSTERED" if word else None

    def _key(self, start: int, name: str | None, of_table: bool) -> KeyConstraint:
        primary = self.expect_any("PRIMARY", "UNIQUE") == "PRIMARY"
        if primary:
            self.expect("KEY")
        clustered = self._clustered()
        if self.words[self.i] == "HASH":
            self.not_supported("hash indexes")
        columns = None
        if of_table or self.words[self.i] == "(":
            columns = self.parenthesised(self.key_column)
        options: list[Option] = []
        if self.accept("WITH"):
            options = self.index_options()
        filegroup = self.filegroup()
        end = self.last_end()
        return KeyConstraint(start, end, name, primary, clustered, columns, options, filegroup)

    def index_options(self) -> list[Option]:
        """Read ``(..)`` after WITH, or the old form ``FILLFACTOR = n, ..`` without parentheses."""
        if self.words[self.i] == "(":
            return self.option_list()
        return self.list_of(self._old_index_option)

    def _old_index_option(self) -> Option:
        i = self.i
        option = Option(self.starts[i], self.ends[i], self.expect_any(*_OLD_INDEX_OPTIONS))
        if option.name == "FILLFACTOR":
            self.option_value(option)
        return option

    def _foreign_key(self, start: int, name: str | None, of_table: bool) -> ForeignKey:
        columns = None
        if self.accept("FOREIGN"):
            self.expect("KEY")
            if of_table or self.words[self.i] == "(":
                columns = self.name_list()
        self.expect("REFERENCES")
        table = self.object_name(3)
        referenced = self.name_list() if self.words[self.i] == "(" else None
        actions: dict[str, str] = {}
        while self.words[self.i] == "ON" and self.words[self.i + 1] in ("DELETE", "UPDATE"):
            self.i += 1
            event = self.word()
            actions[event] = self._referential_action()
        if self.words[self.i] == "NOT" and self.words[self.i + 1] == "FOR":
            self.not_supported("FOREIGN KEY NOT FOR REPLICATION")
        on_delete, on_update = actions.get("DELETE"), actions.get("UPDATE")
        end = self.last_end()
        return ForeignKey(start, end, name, columns, table, referenced, on_delete, on_update)

    def _referential_action(self) -> str:
        word = self.expect_any("NO", "CASCADE", "SET")
        if word == "NO":
            self.expect("ACTION")
            return "NO ACTION"
        if word == "SET":
            return "SET " + self.expect_any("NULL", "DEFAULT")
        return word

    def _inline_index(self) -> TableIndex:
        start = self.starts[self.i]
        self.expect("INDEX")
        name = self.name()
        unique = self.accept("UNIQUE")
        clustered = self._clustered()
        if self.words[self.i] in ("HASH", "COLUMNSTORE"):
            self.not_supported(f"{self.words[self.i]} indexes")
        columns = self.parenthesised(self.key_column) if self.words[self.i] == "(" else None
        include = self.name_list() if self.accept("INCLUDE") else []
        where = self.condition() if self.accept("WHERE") else None
        options = self.option_list() if self.accept("WITH") else []
        filegroup = self.filegroup()
        index = TableIndex(
            start,
            self.last_end(),
            name,
            unique,
            clustered,
            columns,
            include,
            where,
            options,
            filegroup,
        )
        return index

    # -------------------------------------------------------------------------------- ALTER TABLE
    def _alter_table(self, start: int, name: ObjectName) -> Statement:
        check = None
        if self.words[self.i] == "WITH" and self.words[self.i + 1] in ("CHECK", "NOCHECK"):
            check = self.words[self.i + 1] == "CHECK"
            self.i += 2
        word = self.expect_any(
            "ADD",
            "DROP",
            "ALTER",
            "CHECK",
            "NOCHECK",
            "ENABLE",
            "DISABLE",
            "SET",
            "REBUILD",
            "SWITCH",
        )
        if word == "ADD":
            elements = _with_own_columns(self.list_of(self._element))
            return AlterTableAdd(start, self.last_end(), name, check, elements)
        if word in ("CHECK", "NOCHECK"):
            self.expect("CONSTRAINT")
            names = [] if self.accept("ALL") else self.list_of(self.name)
            enable = word == "CHECK"
            return AlterTableConstraints(start, self.last_end(), name, check, enable, names)
        if check is not None:
            self.i -= 1
            self.unexpected()
        if word == "DROP":
            items = self._drop_items()
            if self.words[self.i] == "WITH" and self.words[self.i + 1] == "(":
                self.not_supported("ALTER TABLE DROP WITH options")
            return AlterTableDrop(start, self.last_end(), name, items)
        if word == "ALTER":
            if self.words[self.i] == "INDEX":
                self.not_supported("ALTER TABLE ALTER INDEX")
            self.expect("COLUMN")
            if self.words[self.i + 1] in ("ADD", "DROP"):
                self.not_supported("ALTER COLUMN ADD or DROP of a property")
            column = self.column_definition()
            if not isinstance(column, ColumnDef):
                self.unexpected()
            return AlterTableAlterColumn(start, self.last_end(), name, column)
        if word in ("ENABLE", "DISABLE"):
            if self.words[self.i] == "CHANGE_TRACKING":
                self.not_supported("change tracking")
            self.expect("TRIGGER")
            names = [] if self.accept("ALL") else self.list_of(self.name)
            return AlterTableTriggers(start, self.last_end(), name, word == "ENABLE", names)
        return self._alter_table_action(start, name, word)

    def _alter_table_action(self, start: int, name: ObjectName, word: str) -> Statement:
        if word == "SWITCH":
            self.not_supported("ALTER TABLE SWITCH", at=self.i - 1)
        options: list[Option] = []
        if word == "SET" or self.accept("WITH"):
            options = self.option_list()
        return AlterTableSet(start, self.last_end(), name, word, options)

    def _drop_items(self) -> list[AlterTableDropItem]:
        """Read ``[CONSTRAINT] a, b, COLUMN c``: a kind holds until the next one is named."""
        items = []
        kind = "CONSTRAINT"
        while True:
            start = self.starts[self.i]
            kind = self.accept_any("CONSTRAINT", "COLUMN") or kind
            if_exists = self.if_exists()
            name = self.name()
            items.append(AlterTableDropItem(start, self.last_end(), kind, name, if_exists))
            if not self.accept(","):
                return items


def _with_own_columns(elements: list[TableElement]) -> list[TableElement]:
    """The elements, with constraints that name their columns taken out of column definitions.

    A comma left out in front of ``CONSTRAINT k PRIMARY KEY (a)`` makes it part of the column before
    by grammar; the server takes it for what it says (F-291).
    """
    result: list[TableElement] = []
    for element in elements:
        result.append(element)
        own = [c for c in getattr(element, "constraints", None) or () if _names_columns(c)]
        if own:
            assert isinstance(element, (ColumnDef, ComputedColumn)) and element.constraints
            kept = [c for c in element.constraints if c not in own]
            element.constraints = kept or None
            result += own
    return result


def _names_columns(constraint: Constraint) -> bool:
    return isinstance(constraint, (KeyConstraint, ForeignKey)) and constraint.columns is not None
