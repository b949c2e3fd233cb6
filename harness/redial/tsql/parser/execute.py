"""EXECUTE, EXECUTE AS, cursors."""

from __future__ import annotations

from redial.tsql.ast import (
    BinaryOp,
    CloseCursor,
    ColumnDef,
    CursorDefinition,
    CursorName,
    DeallocateCursor,
    DeclareCursor,
    ExecuteArgument,
    ExecuteAs,
    ExecuteProcedure,
    ExecuteString,
    Expression,
    FetchCursor,
    Literal,
    OpenCursor,
    Option,
    Statement,
    UnaryOp,
)
from redial.tsql.lexer import BINARY, GLOBAL, MONEY, NUMBER, QUOTED, STRING, VARIABLE, WORD
from redial.tsql.parser.cursor import MAX_CHAIN
from redial.tsql.parser.flow import FlowParser

_ARGUMENT_KINDS = frozenset({WORD, QUOTED, VARIABLE, GLOBAL, STRING, NUMBER, BINARY, MONEY})
_CURSOR_OPTIONS = (
    *("LOCAL", "GLOBAL", "FORWARD_ONLY", "SCROLL", "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"),
    *("READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC", "TYPE_WARNING", "INSENSITIVE"),
)


class ExecuteParser(FlowParser):
    """EXECUTE and cursors."""

    def execute(self, start: int) -> Statement:
        """Read EXEC of a procedure or string, or EXECUTE AS."""
        self.i += 1
        if self.accept("AS"):
            return self._execute_as(start)
        return self.execute_tail(start)

    def implicit_execute(self, start: int) -> Statement:
        """Read a procedure call without EXEC, allowed as the first statement of a batch."""
        statement = self._execute_procedure(start)
        statement.implicit = True
        return statement

    def execute_tail(self, start: int) -> ExecuteProcedure | ExecuteString:
        """Read what follows EXEC."""
        if self.words[self.i] == "(":
            return self._execute_string(start)
        return self._execute_procedure(start)

    def _execute_procedure(self, start: int) -> ExecuteProcedure:
        result = None
        if self.kinds[self.i] == VARIABLE and self.words[self.i + 1] == "=":
            result = self.variable()
            self.i += 1
        procedure = self.variable() if self.kinds[self.i] == VARIABLE else self.object_name()
        number = None
        if self.words[self.i] == ";" and self.kinds[self.i + 1] == NUMBER:
            self.i += 1
            number = self.whole_number()
        arguments = self.list_of(self._execute_argument) if self._at_argument() else []
        options = None
        if self.words[self.i] == "WITH" and self.words[self.i + 1] in ("RECOMPILE", "RESULT"):
            self.i += 1
            options = self.list_of(self._execute_option)
        end = self.last_end()
        return ExecuteProcedure(start, end, procedure, arguments, result, number, options)

    def _at_argument(self) -> bool:
        i = self.i
        if self.at_label():
            return False
        return self.kinds[i] in _ARGUMENT_KINDS or self.words[i] in ("-", "+", "NULL", "DEFAULT")

    def _execute_argument(self) -> ExecuteArgument:
        """Read ``[@name =] value [OUTPUT]``: a constant, variable, DEFAULT or a bare word."""
        start = self.starts[self.i]
        name = None
        if self.kinds[self.i] == VARIABLE and self.words[self.i + 1] == "=":
            name = self.raw(self.i)
            self.i += 2
        if not self._at_argument():
            self.unexpected()
        value = self._argument_value()
        output = self.accept_any("OUTPUT", "OUT") != ""
        return ExecuteArgument(start, self.last_end(), name, value, output)

    def _argument_value(self) -> Expression:
        i = self.i
        start = self.starts[i]
        if self.kinds[i] <= QUOTED:
            text = self.name()
            return Literal(start, self.last_end(), "nstring", text)
        sign = self.accept_any("-", "+")
        if sign:
            if self.kinds[self.i] not in (NUMBER, MONEY):
                self.unexpected()
            value = self.primary()
            return UnaryOp(start, self.last_end(), sign, value)
        return self.value_or_default() if self.words[i] == "DEFAULT" else self.primary()

    def _execute_option(self) -> Option:
        start = self.starts[self.i]
        value: object = None
        name = self.expect_any("RECOMPILE", "RESULT")
        if name == "RESULT":
            self.expect("SETS")
            name = "RESULT SETS"
            if self.words[self.i] == "(":
                value = self.parenthesised(self._result_set)
            else:
                value = self.expect_any("NONE", "UNDEFINED")
        return Option(start, self.last_end(), name, value)

    def _result_set(self) -> list[ColumnDef]:
        if self.words[self.i] == "AS":
            self.not_supported("WITH RESULT SETS AS")
        return self.parenthesised(self.result_column)

    def _execute_string(self, start: int) -> ExecuteString:
        self.expect("(")
        command = self._command_text()
        arguments = []
        while self.accept(","):
            arguments.append(self._execute_argument())
        self.expect(")")
        as_kind = as_name = server = None
        if self.accept("AS"):
            as_kind = self.expect_any("USER", "LOGIN")
            self.expect("=")
            as_name = self.string()
        if self.accept("AT"):
            server = self.name()
        if self.words[self.i] == "WITH" and self.words[self.i + 1] == "RESULT":
            self.not_supported("WITH RESULT SETS of EXECUTE of a string")
        end = self.last_end()
        return ExecuteString(start, end, command, arguments, as_kind, as_name, server)

    def _command_text(self) -> Expression:
        """Read strings and variables joined by +; EXEC takes no other expression."""
        start = self.starts[self.i]
        value: Expression = self._command_part()
        chain = 0
        while self.accept("+"):
            chain += 1
            if chain > MAX_CHAIN:
                self.too_deep()
            right = self._command_part()
            value = BinaryOp(start, self.last_end(), "+", value, right)
        return value

    def _command_part(self) -> Expression:
        return self.primary() if self.kinds[self.i] == GLOBAL else self.string_or_variable()

    def _execute_as(self, start: int) -> ExecuteAs:
        if self.accept("CALLER"):
            return ExecuteAs(start, self.last_end(), "CALLER", None)
        kind = self.expect_any("USER", "LOGIN")
        self.expect("=")
        name = self.string_or_variable()
        no_revert, cookie = False, None
        if self.accept("WITH"):
            if self.accept("NO"):
                self.expect("REVERT")
                no_revert = True
            else:
                self.expect("COOKIE", "INTO")
                cookie = self.variable()
        return ExecuteAs(start, self.last_end(), kind, name, no_revert, cookie)

    # ------------------------------------------------------------------------------------ cursors
    def declare_cursor(self, start: int) -> DeclareCursor:
        """Read ``DECLARE name [INSENSITIVE] [SCROLL] CURSOR .. FOR query``."""
        name = self.name()
        definition = self.cursor_definition()
        return DeclareCursor(start, self.last_end(), name, definition)

    def cursor_definition(self) -> CursorDefinition:
        """Read ``[options] CURSOR [options] FOR query [FOR UPDATE [OF ..] | FOR READ ONLY]``."""
        start = self.starts[self.i]
        options = []
        while word := self.accept_any("INSENSITIVE", "SCROLL"):
            options.append(word)
        self.expect("CURSOR")
        old = bool(options)
        while word := self.accept_any(*_CURSOR_OPTIONS):
            if old:
                self.error(1049, at=self.i - 1)
            options.append(word)
        self.expect("FOR")
        query = self.query_with_tables(may_order=True)
        for_update, read_only = None, False
        if self.accept("FOR"):
            if self.accept("READ"):
                self.expect("ONLY")
                read_only = True
            else:
                self.expect("UPDATE")
                for_update = self.list_of(self.name) if self.accept("OF") else []
        return CursorDefinition(start, self.last_end(), options, query, for_update, read_only)

    def cursor_name(self) -> CursorName:
        """Read ``[GLOBAL] name`` or a cursor variable."""
        start = self.starts[self.i]
        is_global = self.words[self.i] == "GLOBAL" and self.kinds[self.i + 1] <= QUOTED
        if is_global:
            self.i += 1
        name = self.variable() if self.kinds[self.i] == VARIABLE else self.name()
        return CursorName(start, self.last_end(), name, is_global)

    def open_(self, start: int) -> Statement:
        """Read OPEN cursor; OPEN of keys is told apart by its words."""
        key = self.open_or_close_key(start)
        if key is not None:
            return key
        self.i += 1
        cursor = self.cursor_name()
        return OpenCursor(start, self.last_end(), cursor)

    def close(self, start: int) -> Statement:
        """Read CLOSE cursor; CLOSE of keys is told apart by its words."""
        key = self.open_or_close_key(start)
        if key is not None:
            return key
        self.i += 1
        cursor = self.cursor_name()
        return CloseCursor(start, self.last_end(), cursor)

    def open_or_close_key(self, start: int) -> Statement | None:
        """Read OPEN|CLOSE MASTER|SYMMETRIC KEY, or nothing."""
        raise NotImplementedError

    def deallocate(self, start: int) -> DeallocateCursor:
        """Read DEALLOCATE."""
        self.i += 1
        cursor = self.cursor_name()
        return DeallocateCursor(start, self.last_end(), cursor)

    def fetch(self, start: int) -> FetchCursor:
        """Read FETCH [orientation FROM] cursor [INTO @v, ..]."""
        self.i += 1
        orientation, offset = "NEXT", None
        if word := self.accept_any("NEXT", "PRIOR", "FIRST", "LAST"):
            orientation = word
            self.expect("FROM")
        elif word := self.accept_any("ABSOLUTE", "RELATIVE"):
            orientation = word
            offset = self.operand()
            self.expect("FROM")
        else:
            self.accept("FROM")
        cursor = self.cursor_name()
        into = self.list_of(self.variable) if self.accept("INTO") else None
        return FetchCursor(start, self.last_end(), orientation, offset, cursor, into)
