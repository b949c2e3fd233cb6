"""Control of flow, variables, SET, transactions, WAITFOR, errors, and small session statements."""

from __future__ import annotations

from redial.tsql.ast import (
    BeginTransaction,
    Block,
    Break,
    Checkpoint,
    Commit,
    Continue,
    CursorDefinition,
    Dbcc,
    DeclareTableVariable,
    DeclareVariable,
    Expression,
    GetConversationGroup,
    Goto,
    Identifier,
    If,
    Kill,
    Literal,
    Option,
    Print,
    RaiseError,
    Receive,
    Reconfigure,
    Return,
    Revert,
    Rollback,
    SaveTransaction,
    SetIdentityInsert,
    SetIsolationLevel,
    SetMethod,
    SetOption,
    SetValue,
    SetVariable,
    Statement,
    TableElement,
    Throw,
    TryCatch,
    UnaryOp,
    Use,
    Variable,
    VariableDeclaration,
    WaitForDelay,
    WaitForStatement,
    WaitForTime,
    While,
)
from redial.tsql.keywords import SET_ON_OFF, SET_VALUES
from redial.tsql.lexer import (
    BINARY,
    GLOBAL,
    KEYWORD,
    MONEY,
    NUMBER,
    OPERATOR,
    QUOTED,
    STRING,
    VARIABLE,
    WORD,
)
from redial.tsql.parser.dml import DmlParser
from redial.tsql.parser.queries import ASSIGNMENTS

_RAISERROR_OPTIONS = ("LOG", "NOWAIT", "SETERROR")
_VALUE_KEYWORDS = frozenset(
    {
        *("CASE", "NULL", "CONVERT", "TRY_CONVERT", "COALESCE", "NULLIF", "LEFT", "RIGHT", "USER"),
        *("CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER"),
    }
)
"""Reserved words that begin a value: RETURN must tell its value from the next statement."""


_VALUE_KINDS = frozenset({QUOTED, VARIABLE, GLOBAL, STRING, NUMBER, BINARY, MONEY})


class FlowParser(DmlParser):
    """Control of flow and session statements."""

    def statement(self, fresh: bool) -> Statement:
        """Read one statement. fresh: a word that is not reserved may begin it."""
        raise NotImplementedError

    def statement_list(self) -> list[Statement]:
        """Read statements up to END."""
        raise NotImplementedError

    def begin_dialog(self, start: int) -> Statement:
        """Read BEGIN DIALOG."""
        raise NotImplementedError

    def begin_timer(self, start: int) -> Statement:
        """Read BEGIN CONVERSATION TIMER."""
        raise NotImplementedError

    def receive(self, start: int) -> Receive:
        """Read RECEIVE."""
        raise NotImplementedError

    def get_conversation_group(self, start: int) -> GetConversationGroup:
        """Read GET CONVERSATION GROUP."""
        raise NotImplementedError

    def table_elements(self) -> list[TableElement]:
        """Read the definition of a table in parentheses."""
        raise NotImplementedError

    def cursor_definition(self) -> CursorDefinition:
        """Read ``CURSOR .. FOR query``."""
        raise NotImplementedError

    def declare_cursor(self, start: int) -> Statement:
        """Read ``DECLARE name CURSOR``."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- blocks
    def begin(self, start: int) -> Statement:
        """Read one of the six meanings of BEGIN."""
        after = self.words[self.i + 1]
        self.i += 1
        if after in ("TRAN", "TRANSACTION", "DISTRIBUTED"):
            return self._begin_transaction(start)
        if after == "TRY":
            return self._try_catch(start)
        if after == "DIALOG" and self._at_dialog():
            return self.begin_dialog(start)
        if after == "CONVERSATION" and self.words[self.i + 1] == "TIMER":
            return self.begin_timer(start)
        if after == "ATOMIC":
            self.not_supported("BEGIN ATOMIC")
        statements = self.statement_list()
        if not statements:
            self.unexpected()
        self.expect("END")
        return Block(start, self.last_end(), statements)

    def _at_dialog(self) -> bool:
        """DIALOG is not reserved; a handle or CONVERSATION behind it makes it the statement."""
        following = self.i + 1
        return self.words[following] == "CONVERSATION" or self.kinds[following] == VARIABLE

    def _try_catch(self, start: int) -> TryCatch:
        self.expect("TRY")
        body = self.statement_list()
        if not body:
            self.unexpected()
        self.expect("END", "TRY", "BEGIN", "CATCH")
        handler = self.statement_list()
        self.expect("END", "CATCH")
        return TryCatch(start, self.last_end(), body, handler)

    def if_(self, start: int) -> If:
        """Read IF."""
        self.i += 1
        condition = self.condition()
        then = self.statement(fresh=True)
        otherwise = self.statement(fresh=True) if self.accept("ELSE") else None
        return If(start, self.last_end(), condition, then, otherwise)

    def while_(self, start: int) -> While:
        """Read WHILE."""
        self.i += 1
        condition = self.condition()
        self.loops += 1
        body = self.statement(fresh=True)
        self.loops -= 1
        return While(start, self.last_end(), condition, body)

    def break_(self, start: int) -> Break:
        """Read BREAK; outside WHILE it is error 135."""
        if not self.loops:
            self.error(135)
        self.i += 1
        return Break(start, self.last_end())

    def continue_(self, start: int) -> Continue:
        """Read CONTINUE; outside WHILE it is error 136."""
        if not self.loops:
            self.error(136)
        self.i += 1
        return Continue(start, self.last_end())

    def goto(self, start: int) -> Goto:
        """Read GOTO; the label is looked for at the end of the batch (133)."""
        self.i += 1
        self.gotos.append(self.i)
        label = self.name()
        return Goto(start, self.last_end(), label)

    def return_(self, start: int) -> Return:
        """Read RETURN [value]."""
        self.i += 1
        value = self.expression() if self._at_value() else None
        if value is not None and not self.return_value_allowed:
            self.error(178)
        return Return(start, self.last_end(), value)

    def _at_value(self) -> bool:
        kind, word = self.kinds[self.i], self.words[self.i]
        if kind == KEYWORD:
            return word in _VALUE_KEYWORDS
        if kind == WORD:
            return self.words[self.i + 1] != ":"
        if kind == OPERATOR:
            return word in ("(", "-", "+", "~", "{")
        return kind in _VALUE_KINDS

    def print_(self, start: int) -> Print:
        """Read PRINT."""
        self.i += 1
        value = self.expression()
        return Print(start, self.last_end(), value)

    def throw(self, start: int) -> Throw:
        """Read THROW; each argument is a constant or a variable."""
        self.i += 1
        if self.kinds[self.i] not in (NUMBER, VARIABLE):
            return Throw(start, self.last_end(), None, None, None)
        number = self.integer_or_variable()
        self.expect(",")
        message = self.string_or_variable()
        self.expect(",")
        state = self.integer_or_variable()
        return Throw(start, self.last_end(), number, message, state)

    def raise_error(self, start: int) -> RaiseError:
        """Read RAISERROR; the form without parentheses is gone since 2012."""
        self.i += 1
        self.expect("(")
        arguments = self.list_of(self._raise_error_argument)
        if len(arguments) < 3:
            self.unexpected()
        self.expect(")")
        options = []
        if self.accept("WITH"):
            options = self.list_of(lambda: self.expect_any(*_RAISERROR_OPTIONS))
        return RaiseError(start, self.last_end(), arguments, options)

    def _raise_error_argument(self) -> Expression:
        """Read a constant, signed number or variable: RAISERROR takes no expressions."""
        start = self.starts[self.i]
        negative = self.accept("-")
        value = self.primary()
        if not isinstance(value, (Literal, Variable)) and self.kinds[self.i - 1] != GLOBAL:
            self.i -= 1
            self.unexpected()
        return UnaryOp(start, self.last_end(), "-", value) if negative else value

    # ----------------------------------------------------------------------------------- WAITFOR
    def wait_for(self, start: int) -> Statement:
        """Read WAITFOR DELAY, TIME, or (RECEIVE | GET CONVERSATION GROUP)."""
        self.i += 1
        if self.accept("DELAY"):
            delay = self.string_or_variable()
            return WaitForDelay(start, self.last_end(), delay)
        if self.accept("TIME"):
            time = self.string_or_variable()
            return WaitForTime(start, self.last_end(), time)
        self.expect("(")
        inner_start = self.starts[self.i]
        inner: Receive | GetConversationGroup
        if self.words[self.i] == "RECEIVE":
            inner = self.receive(inner_start)
        elif self.words[self.i] == "GET":
            inner = self.get_conversation_group(inner_start)
        else:
            self.unexpected()
        self.expect(")")
        timeout = None
        if self.accept(","):
            self.expect("TIMEOUT")
            timeout = self._signed_integer_or_variable()
        return WaitForStatement(start, self.last_end(), inner, timeout)

    def _signed_integer_or_variable(self) -> Expression:
        start = self.starts[self.i]
        if self.accept("-"):
            value = self.integer()
            return UnaryOp(start, self.last_end(), "-", value)
        return self.integer_or_variable()

    # ------------------------------------------------------------------------------ transactions
    def _begin_transaction(self, start: int) -> BeginTransaction:
        distributed = self.accept("DISTRIBUTED")
        self.expect_any("TRAN", "TRANSACTION")
        name = self._transaction_name()
        mark: Expression | bool | None = None
        if self.accept_all("WITH", "MARK"):
            mark = self.string_or_variable() if self._at_text() else True
        return BeginTransaction(start, self.last_end(), name, distributed, mark)

    def _at_text(self) -> bool:
        return self.kinds[self.i] in (STRING, VARIABLE)

    def _transaction_name(self) -> Identifier | Variable | None:
        kind = self.kinds[self.i]
        if (kind <= QUOTED and not self.at_label()) or kind == VARIABLE:
            return self.name_or_variable()
        return None

    def commit(self, start: int) -> Commit:
        """Read COMMIT."""
        self.i += 1
        name = self._transaction_name() if self._tran_word() else None
        durability = None
        if self.at("WITH", "(", "DELAYED_DURABILITY"):
            self.i += 3
            self.expect("=")
            durability = self.on_off()
            self.expect(")")
        return Commit(start, self.last_end(), name, durability)

    def rollback(self, start: int) -> Rollback:
        """Read ROLLBACK."""
        self.i += 1
        name = self._transaction_name() if self._tran_word() else None
        return Rollback(start, self.last_end(), name)

    def _tran_word(self) -> bool:
        """Read TRAN, TRANSACTION or WORK; tell whether a name may follow."""
        return self.accept_any("TRAN", "TRANSACTION", "WORK") in ("TRAN", "TRANSACTION")

    def save(self, start: int) -> SaveTransaction:
        """Read SAVE TRANSACTION."""
        self.i += 1
        self.expect_any("TRAN", "TRANSACTION")
        name = self.name_or_variable()
        return SaveTransaction(start, self.last_end(), name)

    # ---------------------------------------------------------------------------- DECLARE and SET
    def declare(self, start: int) -> Statement:
        """Read DECLARE of variables, a table variable or a cursor."""
        self.i += 1
        if self.kinds[self.i] != VARIABLE:
            return self.declare_cursor(start)
        if self.words[self.i + 1 + (self.words[self.i + 1] == "AS")] == "TABLE":
            variable = self.variable()
            self.accept("AS")
            self.expect("TABLE")
            elements = self.table_elements()
            return DeclareTableVariable(start, self.last_end(), variable, elements)
        declarations = self.list_of(self._declaration)
        return DeclareVariable(start, self.last_end(), declarations)

    def _declaration(self) -> VariableDeclaration:
        start = self.starts[self.i]
        variable = self.variable()
        self.accept("AS")
        if self.accept("CURSOR"):
            return VariableDeclaration(start, self.last_end(), variable, None, None)
        data_type = self.data_type()
        value = self.expression() if self.accept("=") else None
        return VariableDeclaration(start, self.last_end(), variable, data_type, value)

    def set_(self, start: int) -> Statement:
        """Read SET of a variable or an option."""
        self.i += 1
        if self.kinds[self.i] == VARIABLE:
            return self._set_variable(start)
        if self.accept("TRANSACTION"):
            return self._set_isolation(start)
        if self.accept("IDENTITY_INSERT"):
            table = self.object_name()
            on = self.on_off()
            return SetIdentityInsert(start, self.last_end(), table, on)
        first = self.i
        name = self.word()
        if name == "STATISTICS":
            names = self.list_of(lambda: self.expect_any("IO", "TIME", "PROFILE", "XML"))
            names = [f"STATISTICS {item}" for item in names]
            return SetOption(start, start, names, self.on_off())
        if name in SET_VALUES:
            value = self._set_value()
            return SetValue(start, self.last_end(), name, value)
        names = [self._on_off_option(first)]
        while self.accept(","):
            first = self.i
            self.word()
            names.append(self._on_off_option(first))
        return SetOption(start, start, names, self.on_off())

    def _on_off_option(self, i: int) -> str:
        if self.words[i] == "OFFSETS":
            self.not_supported("SET OFFSETS", at=i)
        if self.words[i] not in SET_ON_OFF:
            self.error(195, self.raw(i), "SET option", at=i)
        return self.words[i]

    def _set_value(self) -> Expression:
        """Read a number, string or variable, or a bare word as an Identifier."""
        i = self.i
        if self.kinds[i] == WORD:
            return self.identifier()
        start = self.starts[i]
        if self.accept("OFF"):  # SET FIPS_FLAGGER OFF
            return Identifier(start, self.last_end(), "OFF")
        negative = self.accept("-")
        value = self.primary()
        return UnaryOp(start, self.last_end(), "-", value) if negative else value

    def _set_variable(self, start: int) -> Statement:
        variable = self.variable()
        if self.accept("."):
            call = self.method_call(variable, variable.pos)
            return SetMethod(start, self.last_end(), call)
        op = self.expect_any(*ASSIGNMENTS)
        value: Expression | CursorDefinition
        if self.words[self.i] == "CURSOR":
            value = self.cursor_definition()
        else:
            value = self.expression()
        return SetVariable(start, self.last_end(), variable, op, value)

    def _set_isolation(self, start: int) -> SetIsolationLevel:
        self.expect("ISOLATION", "LEVEL")
        if self.accept("READ"):
            level = "READ " + self.expect_any("COMMITTED", "UNCOMMITTED")
        elif self.accept("REPEATABLE"):
            self.expect("READ")
            level = "REPEATABLE READ"
        else:
            level = self.expect_any("SERIALIZABLE", "SNAPSHOT")
        return SetIsolationLevel(start, self.last_end(), level)

    # ------------------------------------------------------------------- small session statements
    def use(self, start: int) -> Use:
        """Read USE; inside a module it is error 154."""
        if self.in_module:
            what = "a procedure, function or trigger"
            self.error(154, "a USE database statement", what)
        self.i += 1
        name = self.name()
        return Use(start, self.last_end(), name)

    def revert(self, start: int) -> Revert:
        """Read REVERT [WITH COOKIE = @v]."""
        self.i += 1
        cookie = None
        if self.accept_all("WITH", "COOKIE"):
            self.expect("=")
            cookie = self.variable()
        return Revert(start, self.last_end(), cookie)

    def kill(self, start: int) -> Kill:
        """Read KILL session | 'uow' | STATS JOB n | QUERY NOTIFICATION SUBSCRIPTION n | ALL."""
        self.i += 1
        kind = "SESSION"
        target: Expression | None
        if self.accept_all("STATS", "JOB"):
            kind, target = "STATS JOB", self.integer()
        elif self.accept_all("QUERY", "NOTIFICATION", "SUBSCRIPTION"):
            kind = "QUERY NOTIFICATION"
            target = None if self.accept("ALL") else self.integer()
        else:
            target = self.string() if self.kinds[self.i] == STRING else self.integer()
        status_only = self.accept_all("WITH", "STATUSONLY")
        return Kill(start, self.last_end(), kind, target, status_only)

    def checkpoint(self, start: int) -> Checkpoint:
        """Read CHECKPOINT [seconds]."""
        self.i += 1
        duration = self.integer() if self.kinds[self.i] == NUMBER else None
        return Checkpoint(start, self.last_end(), duration)

    def reconfigure(self, start: int) -> Reconfigure:
        """Read RECONFIGURE [WITH OVERRIDE]."""
        self.i += 1
        override = self.accept_all("WITH", "OVERRIDE")
        return Reconfigure(start, self.last_end(), override)

    def dbcc(self, start: int) -> Dbcc:
        """Read DBCC command [(argument, ..)] [WITH option, ..]."""
        self.i += 1
        command = self.word()
        arguments: list[Expression] = []
        if self.accept("("):
            if self.words[self.i] != ")":
                arguments = self.list_of(self._dbcc_argument)
            self.expect(")")
        options = self.list_of(self._dbcc_option) if self.accept("WITH") else []
        return Dbcc(start, self.last_end(), command, arguments, options)

    def _dbcc_argument(self) -> Expression:
        if self.at_identifier():
            return self.identifier()
        return self._set_value()

    def _dbcc_option(self) -> Option:
        i = self.i
        name = self.word()
        value = self.primary() if self.accept("=") else None
        return Option(self.starts[i], self.last_end(), name, value)
