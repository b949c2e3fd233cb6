"""FROM: tables, hints, joins, APPLY, functions, derived tables, PIVOT."""

from __future__ import annotations

from typing import cast

from redial.tsql.ast import (
    Apply,
    ColumnRef,
    Delete,
    DerivedTable,
    Expression,
    FunctionCall,
    FunctionTable,
    Insert,
    InsertBulk,
    Join,
    Merge,
    MethodCall,
    NodesTable,
    ObjectName,
    Pivot,
    Query,
    SchemaColumn,
    TableHint,
    TableRef,
    TableSource,
    Unpivot,
    Update,
    Values,
    Variable,
    VariableTable,
)
from redial.tsql.keywords import TABLE_HINTS
from redial.tsql.lexer import QUOTED, STRING, VARIABLE
from redial.tsql.parser.cursor import MAX_CHAIN, MAX_DEPTH
from redial.tsql.parser.expressions import ExpressionParser

_JOIN_WORDS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "OUTER"})
_PIVOT_WORDS = frozenset({"PIVOT", "UNPIVOT"})
_JOIN_HINTS = ("LOOP", "HASH", "MERGE", "REMOTE")
_NOT_AN_ALIAS = frozenset({"OUTPUT", "USING"})
"""Words that may follow a table and are not reserved."""

_REFUSED_SOURCES = frozenset(
    {
        *("OPENQUERY", "OPENROWSET", "OPENDATASOURCE", "CONTAINSTABLE", "FREETEXTTABLE"),
        *("CHANGETABLE", "PREDICT", "::"),
    }
)


class SourceParser(ExpressionParser):
    """The FROM clause."""

    def data_change(self) -> Insert | InsertBulk | Update | Delete | Merge:
        """Read a data change with OUTPUT standing as a table."""
        raise NotImplementedError

    def from_clause(self) -> list[TableSource]:
        """Read ``FROM source, ..`` or nothing."""
        return self.list_of(self.table_source) if self.accept("FROM") else []

    def table_source(self) -> TableSource:
        """Read one source with its joins."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep()
        start = self.starts[self.i]
        left = self._table_primary()
        chain = 0
        while self.words[self.i] in _JOIN_WORDS:
            chain += 1
            if chain > MAX_CHAIN:
                self.too_deep()
            left = self._joined(left, start)
        self.depth -= 1
        return left

    def _joined(self, left: TableSource, start: int) -> TableSource:
        """Read one join or APPLY after ``left``."""
        word = self.word()
        if word in ("CROSS", "OUTER"):
            if self.accept("APPLY"):
                right = self._table_primary()
                return Apply(start, self.last_end(), word == "OUTER", left, right)
            if word == "OUTER":
                self.unexpected()
            self.expect("JOIN")
            right = self._table_primary()
            return Join(start, self.last_end(), "CROSS", left, right, None)
        hint = None
        if word != "JOIN":
            if word != "INNER":
                self.accept("OUTER")
            hint = self.accept_any(*_JOIN_HINTS) or None
            self.expect("JOIN")
        right_start = self.starts[self.i]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep()
        right = self._table_primary()
        while self.words[self.i] in _JOIN_WORDS:  # a JOIN b JOIN c ON .. ON ..
            right = self._joined(right, right_start)
        self.depth -= 1
        self.expect("ON")
        condition = self.condition()
        kind = "INNER" if word == "JOIN" else word
        return Join(start, self.last_end(), kind, left, right, condition, hint)

    # ----------------------------------------------------------------------------------- primaries
    def _table_primary(self) -> TableSource:
        start = self.starts[self.i]
        if self.words[self.i] == "(":
            source = self._parenthesised_source()
        elif self.accept_all("{", "OJ"):
            source = self.table_source()
            self.expect("}")
        elif self.kinds[self.i] == VARIABLE:
            source = self._variable_source()
        else:
            source = self._named_source()
        while self.words[self.i] in _PIVOT_WORDS:
            source = self._pivot(source, start)
        return source

    def _parenthesised_source(self) -> TableSource:
        start = self.starts[self.i]
        after = self.words[self.i + 1]
        if after in ("INSERT", "UPDATE", "DELETE", "MERGE"):
            self.i += 1
            query = cast(
                "Query | Values | Insert | InsertBulk | Update | Delete | Merge", self.data_change()
            )
        elif after == "VALUES":
            self.i += 1
            query = self.values()
        else:
            self.i += 1
            if not self._at_derived_query():
                source = self.table_source()
                self.expect(")")
                return source
            query = self.query()
        self.expect(")")
        alias, columns = self.alias_and_columns()
        if alias is None:
            self.unexpected()
        return DerivedTable(start, self.last_end(), query, alias, columns)

    def _at_derived_query(self) -> bool:
        """Tell a query from joined tables; a bare ``((SELECT ..) AS a JOIN ..)`` is the latter."""
        return self.words[self.i] == "SELECT" or self.at_query()

    def _variable_source(self) -> TableSource:
        start = self.starts[self.i]
        variable = self.variable()
        if self.accept("."):
            return self._nodes(self.method_call(variable, start), start)
        alias = self.alias()
        return VariableTable(start, self.last_end(), variable, alias)

    def _nodes(self, call: MethodCall, start: int) -> NodesTable:
        alias, columns = self.alias_and_columns()
        return NodesTable(start, self.last_end(), call, alias, columns)

    def _named_source(self) -> TableSource:
        first = self.i
        start = self.starts[first]
        if self.words[first] in _REFUSED_SOURCES:
            self.not_supported(f"{self.words[first]} in FROM")
        if self.words[first] == "OPENXML":
            self.i += 1
            name = ObjectName(start, self.last_end(), (self.raw(first),))
        else:
            name = self.object_name()
        if self.words[self.i] == "(" and not self._at_old_hints():
            if name.name == "nodes" and len(name.parts) > 1:
                target = ColumnRef(start, self.ends[self.i - 3], name.parts[:-1])
                self.i -= 1
                return self._nodes(self.method_call(target, start), start)
            return self._function_source(name)
        if self.words[self.i] == "FOR" and self.words[self.i + 1] == "SYSTEM_TIME":
            self.not_supported("FOR SYSTEM_TIME")
        hints = self.hints()
        alias = self.alias()
        sample = self._sample()
        hints += self.hints()
        return TableRef(start, self.last_end(), name, alias, hints, sample)

    def _sample(self) -> Expression | None:
        if self.words[self.i] == "TABLESAMPLE":
            self.not_supported("TABLESAMPLE")
        return None

    def _function_source(self, name: ObjectName) -> FunctionTable:
        start = name.pos
        self.expect("(")
        arguments: list[Expression] = []
        if self.words[self.i] != ")":
            arguments = self.list_of(self.value_or_default)
        self.expect(")")
        call = FunctionCall(start, self.last_end(), name, arguments)
        schema = None
        if name.name.upper() in ("OPENJSON", "OPENXML") and self.accept("WITH"):
            if self.words[self.i] != "(":
                self.not_supported(f"{name.name.upper()} WITH a table")
            schema = self.parenthesised(self._schema_column)
        hints = self.hints()
        alias, columns = self.alias_and_columns()
        return FunctionTable(start, self.last_end(), call, alias, columns, hints, schema)

    def _schema_column(self) -> SchemaColumn:
        start = self.starts[self.i]
        name = self.name()
        data_type = self.data_type()
        if self.words[self.i] == "COLLATE":
            self.not_supported("COLLATE in a WITH schema")
        path = str(self.string().value) if self.kinds[self.i] == STRING else None
        as_json = self.accept_all("AS", "JSON")
        return SchemaColumn(start, self.last_end(), name, data_type, path, as_json)

    # ------------------------------------------------------------------------------------- aliases
    def alias(self) -> str | None:
        """Read ``[AS] name`` or nothing."""
        if self.accept("AS"):
            return self.name()
        i = self.i
        if (
            self.kinds[i] <= QUOTED
            and self.words[i] not in _NOT_AN_ALIAS
            and not self.at_window_clause()
            and not self.at_label()
        ):
            return self.name()
        return None

    def at_window_clause(self) -> bool:
        """Tell the WINDOW clause (2022) from a name: WINDOW is not reserved."""
        i = self.i
        return (
            self.words[i] == "WINDOW"
            and self.kinds[i + 1] <= QUOTED
            and self.words[i + 2] == "AS"
            and self.words[i + 3] == "("
        )

    def alias_and_columns(self) -> tuple[str | None, list[str] | None]:
        """Read ``[AS] name [(column, ..)]`` or nothing."""
        alias = self.alias()
        columns = self.name_list() if alias is not None and self.words[self.i] == "(" else None
        return alias, columns

    # --------------------------------------------------------------------------------------- hints
    def hints(self) -> list[TableHint]:
        """Read ``WITH (hint, ..)``, or the old form of one hint without WITH, or nothing.

        WITH before anything but a parenthesis is the common table expression of a next statement
        whose ``;`` is missing: error 336.
        """
        if self.words[self.i] == "WITH":
            if self.words[self.i + 1] == "CHECK":  # WITH CHECK OPTION of a view
                return []
            if self.words[self.i + 1] != "(":
                self.error(336, self.raw(self.i + 1), at=self.i + 1)
            self.i += 1
        elif self._at_old_hints():
            self.i += 1
            hint = self._hint()
            self.expect(")")
            return [hint]
        else:
            return []
        self.i += 1
        result = [self._hint()]
        while not self.accept(")"):
            self.accept(",")
            result.append(self._hint())
        return result

    def _at_old_hints(self) -> bool:
        i = self.i
        words = self.words
        if words[i] != "(" or words[i + 1] not in TABLE_HINTS:
            return False
        return words[i + 2] in (")", ",")

    def _hint(self) -> TableHint:
        i = self.i
        name = self.word()
        if name not in TABLE_HINTS:
            self.error(321, self.raw(i), at=i)
        arguments: list[Expression] = []
        if self.words[self.i] == "(" and name == "FORCESEEK":
            self.i += 1
            arguments = [self._hint_argument()]
            if self.words[self.i] == "(":
                arguments += self.parenthesised(self.identifier)
            self.expect(")")
        elif self.words[self.i] == "(" and name == "INDEX":
            arguments = self.parenthesised(self._hint_argument)
        elif name in ("INDEX", "SPATIAL_WINDOW_MAX_CELLS"):
            self.expect("=")
            if self.words[self.i] == "(":
                arguments = self.parenthesised(self._hint_argument)
            else:
                arguments = [self._hint_argument()]
        return TableHint(self.starts[i], self.last_end(), name, arguments)

    def _hint_argument(self) -> Expression:
        return self.identifier() if self.at_identifier() else self.integer()

    # ------------------------------------------------------------------------------- values, pivot
    def values(self) -> Values:
        """Read ``VALUES (..), (..)``."""
        start = self.starts[self.i]
        self.expect("VALUES")
        rows = self.list_of(self._row)
        return Values(start, self.last_end(), rows)

    def _row(self) -> list[Expression]:
        return self.parenthesised(self.value_or_default)

    def _pivot(self, source: TableSource, start: int) -> TableSource:
        if self.accept("UNPIVOT"):
            self.expect("(")
            value = self.name()
            self.expect("FOR")
            column = self.name()
            self.expect("IN")
            columns = self.parenthesised(self._column)
            self.expect(")")
            alias = self.alias()
            return Unpivot(start, self.last_end(), source, value, column, columns, alias)
        self.expect("PIVOT", "(")
        call = self.column_or_call()
        if not isinstance(call, FunctionCall):
            self.unexpected()
        self.expect("FOR")
        column_ref = self._column()
        self.expect("IN")
        values = self.parenthesised(self.identifier)
        self.expect(")")
        alias = self.alias()
        return Pivot(start, self.last_end(), source, call, column_ref, values, alias)

    def _column(self) -> ColumnRef:
        name = self.object_name()
        return ColumnRef(name.pos, name.end, name.parts)

    def table_or_variable(self) -> ObjectName | Variable:
        """Read the target of a data change."""
        return self.variable() if self.kinds[self.i] == VARIABLE else self.object_name()
