"""INSERT, UPDATE, DELETE, MERGE, TRUNCATE, INSERT BULK."""

from __future__ import annotations

from typing import cast

from redial.tsql.ast import (
    Assignment,
    ColumnDef,
    ColumnMethod,
    ColumnRef,
    CurrentOf,
    CursorName,
    DefaultValues,
    Delete,
    ExecuteProcedure,
    ExecuteString,
    Insert,
    InsertBulk,
    Merge,
    MergeDelete,
    MergeInsert,
    MergeUpdate,
    MergeWhen,
    ObjectName,
    Option,
    OutputClause,
    Predicate,
    Query,
    SelectStatement,
    Statement,
    TableHint,
    TruncateTable,
    Update,
    Values,
    Variable,
)
from redial.tsql.lexer import QUOTED, VARIABLE
from redial.tsql.parser.queries import ASSIGNMENTS, QueryParser

_REMOTE_TARGETS = ("OPENQUERY", "OPENROWSET", "OPENDATASOURCE")


class DmlParser(QueryParser):
    """Statements that change rows."""

    def cursor_name(self) -> CursorName:
        """Read the name of a cursor."""
        raise NotImplementedError

    def execute_tail(self, start: int) -> ExecuteProcedure | ExecuteString:
        """Read what follows EXEC."""
        raise NotImplementedError

    def result_column(self) -> ColumnDef:
        """Read a column with its type."""
        raise NotImplementedError

    def option(self) -> Option:
        """Read ``name [= value]``."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------- WITH
    def with_statement(self, start: int) -> Statement:
        """Read a statement that begins with WITH."""
        with_ = self.with_clause()
        word = self.words[self.i]
        if word in ("SELECT", "("):
            query = self.statement_query()
            query.with_, query.pos = with_, start
            return SelectStatement(start, self.last_end(), query)
        changes = {
            "INSERT": self.insert,
            "UPDATE": self.update,
            "DELETE": self.delete,
            "MERGE": self.merge,
        }
        if word not in changes:
            self.unexpected()
        self._no_bulk()
        statement = changes[word](start)
        if isinstance(statement, (Insert, Update, Delete, Merge)):
            statement.with_ = with_
        return statement

    def _no_bulk(self) -> None:
        """INSERT BULK stands by itself: behind no WITH and in no FROM."""
        if self.words[self.i] == "INSERT" and self.words[self.i + 1] == "BULK":
            self.i += 1
            self.unexpected()

    def data_change(self) -> Insert | InsertBulk | Update | Delete | Merge:
        """Read a data change with OUTPUT standing as a table."""
        self._no_bulk()
        start = self.starts[self.i]
        word = self.words[self.i]
        changes = {"INSERT": self.insert, "UPDATE": self.update, "DELETE": self.delete}
        return changes.get(word, self.merge)(start)

    # ------------------------------------------------------------------------------ common pieces
    def target(self) -> ObjectName | Variable:
        """Read the table or table variable to change."""
        if self.words[self.i] in _REMOTE_TARGETS:
            self.not_supported(f"{self.words[self.i]} as the target of a data change")
        return self.variable() if self.kinds[self.i] == VARIABLE else self.object_name()

    def _target_hints(self) -> list[TableHint] | None:
        return (self.hints() or None) if self.words[self.i] == "WITH" else None

    def outputs(self) -> list[OutputClause] | None:
        """Read OUTPUT clauses: one, or one with INTO and one without."""
        result = cast("list[OutputClause]", [])
        while self.words[self.i] == "OUTPUT" and len(result) < 2:
            start = self.starts[self.i]
            self.i += 1
            items = self.list_of(self.select_item)
            into = columns = None
            if self.accept("INTO"):
                into = self.table_or_variable()
                if self.words[self.i] == "(":
                    columns = self.name_list()
            result.append(OutputClause(start, self.last_end(), items, into, columns))
        return result or None

    def _where(self) -> Predicate | None:
        if not self.accept("WHERE"):
            return None
        start = self.starts[self.i]
        if self.accept_all("CURRENT", "OF"):
            cursor = self.cursor_name()
            return CurrentOf(start, self.last_end(), cursor)
        return self.condition()

    def _options(self) -> list[Option] | None:
        return self.query_hints() if self.words[self.i] == "OPTION" else None

    # ------------------------------------------------------------------------------------- INSERT
    def insert(self, start: int) -> Insert | InsertBulk:
        """Read INSERT."""
        self.i += 1
        if self.words[self.i] == "BULK":
            return self._insert_bulk(start)
        top = self.top() if self.words[self.i] == "TOP" else None
        self.accept("INTO")
        target = self.target()
        hints = self._target_hints()
        columns = None
        if self.words[self.i] == "(" and not self._at_insert_query():
            columns = self.name_list()
        outputs = self.outputs()
        source = self._insert_source()
        options = source.options if isinstance(source, Query) else self._options()
        end = self.last_end()
        return Insert(start, end, target, columns, source, None, top, hints, outputs, options)

    def _at_insert_query(self) -> bool:
        i = self.i
        while self.words[i] == "(":
            i += 1
        return self.words[i] == "SELECT"

    def _insert_source(
        self,
    ) -> Values | Query | ExecuteProcedure | ExecuteString | DefaultValues:
        start = self.starts[self.i]
        if self.words[self.i] == "VALUES":
            return self.values()
        if self.accept_all("DEFAULT", "VALUES"):
            return DefaultValues(start, self.last_end())
        if self.accept_any("EXEC", "EXECUTE"):
            return self.execute_tail(start)
        return self.statement_query()

    def _insert_bulk(self, start: int) -> InsertBulk:
        self.expect("BULK")
        target = self.object_name()
        columns = []
        if self.words[self.i] == "(":
            columns = self.parenthesised(self.result_column)
        options = self.parenthesised(self._bulk_option) if self.accept("WITH") else []
        return InsertBulk(start, self.last_end(), target, columns, options)

    def _bulk_option(self) -> Option:
        """Read an option of INSERT BULK; ORDER names columns: ``ORDER (name [ASC|DESC], ..)``."""
        if self.words[self.i] != "ORDER":
            return self.option()
        start = self.starts[self.i]
        self.i += 1
        columns = self.parenthesised(self._bulk_order)
        return Option(start, self.last_end(), "ORDER", None, None, columns)

    def _bulk_order(self) -> Option:
        start = self.starts[self.i]
        name = self.name()
        self.accept_any("ASC", "DESC")
        return Option(start, self.last_end(), name)

    # ------------------------------------------------------------------------------------- UPDATE
    def update(self, start: int) -> Update:
        """Read UPDATE."""
        self.expect("UPDATE")
        top = self.top() if self.words[self.i] == "TOP" else None
        target = self.target()
        hints = self._target_hints()
        self.expect("SET")
        assignments = self.list_of(self._assignment)
        outputs = self.outputs()
        sources = self.from_clause()
        where = self._where()
        options = self._options()
        end = self.last_end()
        return Update(
            start, end, target, assignments, sources, where, None, top, hints, outputs, options
        )

    def _assignment(self) -> Assignment | ColumnMethod:
        start = self.starts[self.i]
        variable = None
        if self.kinds[self.i] == VARIABLE:
            variable = self.variable()
            op = self.expect_any(*ASSIGNMENTS)
            if op != "=" or not self._at_column_assignment():
                value = self.value_or_default()
                return Assignment(start, self.last_end(), variable, None, op, value)
        name_start = self.i
        column = self.object_name()
        if self.words[self.i] == "(" and len(column.parts) > 1:
            end = self.ends[self.i - 3]
            target = ColumnRef(self.starts[name_start], end, column.parts[:-1])
            self.i -= 1
            call = self.method_call(target, start)
            return ColumnMethod(start, self.last_end(), call)
        op = self.expect_any(*ASSIGNMENTS)
        value = self.value_or_default()
        return Assignment(start, self.last_end(), variable, column, op, value)

    def _at_column_assignment(self) -> bool:
        """Tell ``@v = column = value`` from ``@v = value``."""
        i = self.i
        while self.kinds[i] <= QUOTED and self.words[i + 1] == ".":
            i += 2
        return self.kinds[i] <= QUOTED and self.words[i + 1] in ASSIGNMENTS

    # ------------------------------------------------------------------------------------- DELETE
    def delete(self, start: int) -> Delete:
        """Read DELETE."""
        self.i += 1
        top = self.top() if self.words[self.i] == "TOP" else None
        self.accept("FROM")
        target = self.target()
        hints = self._target_hints()
        outputs = self.outputs()
        sources = self.from_clause()
        where = self._where()
        options = self._options()
        end = self.last_end()
        return Delete(start, end, target, sources, where, None, top, hints, outputs, options)

    def truncate(self, start: int) -> TruncateTable:
        """Read TRUNCATE TABLE."""
        self.expect("TRUNCATE", "TABLE")
        name = self.object_name()
        if self.words[self.i] == "WITH":
            self.not_supported("TRUNCATE TABLE WITH (PARTITIONS)")
        return TruncateTable(start, self.last_end(), name)

    # -------------------------------------------------------------------------------------- MERGE
    def merge(self, start: int) -> Merge:
        """Read MERGE; the statement list checks that ``;`` follows (10713)."""
        self.i += 1
        top = self.top() if self.words[self.i] == "TOP" else None
        self.accept("INTO")
        target = self.target()
        hints = self._target_hints()
        alias = self.alias()
        self.expect("USING")
        source = self.table_source()
        self.expect("ON")
        condition = self.condition()
        whens = []
        while self.words[self.i] == "WHEN":
            whens.append(self._merge_when())
        if not whens:
            self.unexpected()
        outputs = self.outputs()
        options = self._options()
        merge = Merge(start, self.last_end(), target, alias, source, condition, whens)
        merge.top, merge.hints, merge.outputs, merge.options = top, hints, outputs, options
        return merge

    def _merge_when(self) -> MergeWhen:
        start = self.starts[self.i]
        self.expect("WHEN")
        match = "NOT MATCHED" if self.accept("NOT") else "MATCHED"
        self.expect("MATCHED")
        by = match == "NOT MATCHED" and self.accept("BY")
        if by and self.expect_any("TARGET", "SOURCE") == "SOURCE":
            match = "NOT MATCHED BY SOURCE"
        condition = self.condition() if self.accept("AND") else None
        self.expect("THEN")
        self._check_merge_action(match)
        action = self._merge_insert() if match == "NOT MATCHED" else self._merge_change()
        return MergeWhen(start, self.last_end(), match, condition, action)

    def _check_merge_action(self, match: str) -> None:
        """10710, 10711: only rows the target lacks can be inserted, only its own changed."""
        word = self.words[self.i]
        if match == "NOT MATCHED" and word in ("UPDATE", "DELETE"):
            self.error(10710, word)
        if match != "NOT MATCHED" and word == "INSERT":
            self.error(10711, f"WHEN {match}")

    def _merge_change(self) -> MergeUpdate | MergeDelete:
        start = self.starts[self.i]
        if self.accept("DELETE"):
            return MergeDelete(start, self.last_end())
        self.expect("UPDATE", "SET")
        assignments = self.list_of(self._assignment)
        return MergeUpdate(start, self.last_end(), assignments)

    def _merge_insert(self) -> MergeInsert:
        start = self.starts[self.i]
        self.expect("INSERT")
        columns = self.name_list() if self.words[self.i] == "(" else None
        source: Values | DefaultValues
        values_start = self.starts[self.i]
        if self.accept_all("DEFAULT", "VALUES"):
            source = DefaultValues(values_start, self.last_end())
        else:
            source = self.values()
            if len(source.rows) > 1:
                self.unexpected()
        return MergeInsert(start, self.last_end(), columns, source)
