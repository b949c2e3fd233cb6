"""CREATE, ALTER and CREATE OR ALTER of procedures, functions, triggers and views."""

from __future__ import annotations

from collections.abc import Callable

from redial.tsql.ast import (
    CreateDdlTrigger,
    CreateInlineFunction,
    CreateProcedure,
    CreateScalarFunction,
    CreateTableFunction,
    CreateTrigger,
    CreateView,
    Expression,
    Literal,
    ObjectName,
    Option,
    Parameter,
    Query,
    Return,
    Statement,
)
from redial.tsql.lexer import END, QUOTED, STRING, VARIABLE
from redial.tsql.parser.tables import TableParser

_PROCEDURE_OPTIONS = ("RECOMPILE", "ENCRYPTION", "NATIVE_COMPILATION", "SCHEMABINDING")
_FUNCTION_OPTIONS = ("ENCRYPTION", "SCHEMABINDING", "NATIVE_COMPILATION", "INLINE")
_VIEW_OPTIONS = ("ENCRYPTION", "SCHEMABINDING", "VIEW_METADATA")
_EXECUTE_AS = ("CALLER", "SELF", "OWNER")


class ModuleParser(TableParser):
    """Procedures, functions, triggers, views."""

    def require_batch_start(self, text: str) -> None:
        """Raise unless the statement at hand is the first of its batch.

        text: how error 111 names the statement. Inside a block the server does not get that far: it
        stumbles over the word (156).
        """
        if self.in_schema and text == "CREATE VIEW":
            return
        if self.statement_depth > 1:
            self.unexpected()
        if not self.first_in_batch:
            self.error(111, text)

    def require_batch_end(self) -> None:
        """Raise unless only semicolons follow: a view or function is alone in its batch."""
        if self.in_schema:
            return
        while self.accept(";"):
            pass
        if self.kinds[self.i] != END:
            self.unexpected()

    # --------------------------------------------------------------------------------- procedures
    def create_procedure(self, start: int, verb: str) -> CreateProcedure:
        """Read a procedure after the verb; its body runs to the end of the batch."""
        self.require_batch_start("CREATE/ALTER PROCEDURE")
        self.expect_any("PROC", "PROCEDURE")
        name = self.object_name(2, "procedure")
        number = None
        if self.accept(";"):
            number = self.whole_number()
        parameters = self._procedure_parameters()
        options, execute_as = self._options_of(_PROCEDURE_OPTIONS)
        replication = self.accept_all("FOR", "REPLICATION")
        self.expect("AS")
        if self.words[self.i] == "EXTERNAL":
            self.not_supported("CLR procedures")
        body = self._body_to_end(returns_value=True)
        end = body[-1].end if body else self.last_end()
        return CreateProcedure(
            start, end, verb, name, options, execute_as, parameters, body, number, replication
        )

    def _procedure_parameters(self) -> list[Parameter]:
        if self.kinds[self.i] == VARIABLE:
            return self.list_of(self._parameter)
        if not self.accept("("):
            return []
        parameters = self.list_of(self._parameter)
        self.expect(")")
        return parameters

    def _parameter(self) -> Parameter:
        start = self.starts[self.i]
        variable = self.variable()
        self.accept("AS")
        data_type = None
        if self.accept("CURSOR"):
            self.expect("VARYING")
        else:
            data_type = self.data_type()
        nullable = None
        if self.accept("NULL"):
            nullable = True
        elif self.accept_all("NOT", "NULL"):
            nullable = False
        default = self._default_of_parameter() if self.accept("=") else None
        output = self.accept_any("OUTPUT", "OUT") != ""
        readonly = self.accept("READONLY")
        end = self.last_end()
        return Parameter(start, end, variable, data_type, default, output, readonly, nullable)

    def _default_of_parameter(self) -> Expression:
        """Read a constant; a bare word is a string, as in EXEC."""
        i = self.i
        if self.kinds[i] <= QUOTED:
            text = self.name()
            return Literal(self.starts[i], self.ends[i], "nstring", text)
        return self.operand()

    def _options_of(self, names: tuple[str, ...]) -> tuple[list[Option], str | Literal | None]:
        """Read ``WITH option, ..``. Returns the options and EXECUTE AS apart."""
        options: list[Option] = []
        execute_as: str | Literal | None = None
        if not self.accept("WITH"):
            return options, None
        while True:
            i = self.i
            if self.accept_any("EXECUTE", "EXEC"):
                self.expect("AS")
                at_string = self.kinds[self.i] == STRING
                execute_as = self.string() if at_string else self.expect_any(*_EXECUTE_AS)
            elif self.accept_any("RETURNS", "CALLED"):
                self.i = i
                options.append(self._null_call_option())
            else:
                name = self.expect_any(*names)
                option = Option(self.starts[i], self.last_end(), name)
                if name == "INLINE":
                    self.option_value(option)
                options.append(option)
            if not self.accept(","):
                return options, execute_as

    def _null_call_option(self) -> Option:
        start = self.starts[self.i]
        for words in ("RETURNS NULL ON NULL INPUT", "CALLED ON NULL INPUT"):
            if self.accept_all(*words.split()):
                return Option(start, self.last_end(), words)
        self.unexpected()

    def _body_to_end(self, returns_value: bool) -> list[Statement]:
        """Read statements to the end of the batch.

        A procedure may have none (a stub to be altered); a trigger returns no value and must.
        """
        statements = self._in_module(self.statements_to_end, returns_value)
        if not statements and not returns_value:
            self.unexpected()
        return statements

    def _in_module(
        self, parse: Callable[[], list[Statement]], returns_value: bool
    ) -> list[Statement]:
        self.in_module, self.return_value_allowed = True, returns_value
        statements = parse()
        self.in_module = self.return_value_allowed = False
        return statements

    def statements_to_end(self) -> list[Statement]:
        """Read statements to the end of the batch."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------- functions
    def create_function(self, start: int, verb: str) -> Statement:
        """Read a function after the verb."""
        self.require_batch_start("CREATE FUNCTION")
        self.expect("FUNCTION")
        name = self.object_name(2, "function")
        self.expect("(")
        parameters = self.list_of(self._parameter) if self.words[self.i] != ")" else []
        self.expect(")", "RETURNS")
        if self.kinds[self.i] == VARIABLE:
            function = self._table_function(start, verb, name, parameters)
        elif self.accept("TABLE"):
            function = self._inline_function(start, verb, name, parameters)
        else:
            returns = self.data_type()
            options, execute_as = self._options_of(_FUNCTION_OPTIONS)
            self.accept("AS")
            body = self._function_body(returns_value=True)
            end = self.last_end()
            function = CreateScalarFunction(
                start, end, verb, name, options, execute_as, parameters, returns, body
            )
        end = function.end
        self.require_batch_end()
        function.end = end
        return function

    def _table_function(
        self, start: int, verb: str, name: ObjectName, parameters: list[Parameter]
    ) -> Statement:
        variable = self.variable()
        self.expect("TABLE")
        elements = self.table_elements()
        options, execute_as = self._options_of(_FUNCTION_OPTIONS)
        self.accept("AS")
        body = self._function_body(returns_value=False)
        end = self.last_end()
        return CreateTableFunction(
            start, end, verb, name, options, execute_as, parameters, variable, elements, body
        )

    def _inline_function(
        self, start: int, verb: str, name: ObjectName, parameters: list[Parameter]
    ) -> CreateInlineFunction:
        options, execute_as = self._options_of(_FUNCTION_OPTIONS)
        self.accept("AS")
        self.expect("RETURN")
        query = self._inline_query()
        end = self.last_end()
        return CreateInlineFunction(start, end, verb, name, options, execute_as, parameters, query)

    def _inline_query(self) -> Query:
        """Read the query after RETURN, in parentheses or not."""
        if self.words[self.i] == "(" and self.words[self.i + 1] == "WITH":
            self.i += 1
            query = self.query_with_tables()
            self.expect(")")
            return query
        return self.query_with_tables()

    def _function_body(self, returns_value: bool) -> list[Statement]:
        if self.words[self.i] == "EXTERNAL":
            self.not_supported("CLR functions")
        self.expect("BEGIN")
        self.statement_depth += 1
        body = self._in_module(self.statement_list, returns_value)
        self.statement_depth -= 1
        if not body:
            self.unexpected()
        if not isinstance(body[-1], Return):
            self.error(455)
        self.expect("END")
        return body

    # ------------------------------------------------------------------------------ views, triggers
    def create_view(self, start: int, verb: str) -> CreateView:
        """Read a view after the verb."""
        self.require_batch_start("ALTER VIEW" if verb == "ALTER" else "CREATE VIEW")
        self.expect("VIEW")
        name = self.object_name(2, "view")
        columns = self.name_list() if self.words[self.i] == "(" else None
        options, _ = self._options_of(_VIEW_OPTIONS)
        self.expect("AS")
        query = self.query_with_tables()
        check = self.accept_all("WITH", "CHECK", "OPTION")
        view = CreateView(start, self.last_end(), verb, name, options, None, columns, query, check)
        self.require_batch_end()
        return view

    def create_trigger(self, start: int, verb: str) -> Statement:
        """Read a trigger after the verb; its body runs to the end of the batch."""
        self.require_batch_start("ALTER TRIGGER" if verb == "ALTER" else "CREATE TRIGGER")
        self.expect("TRIGGER")
        name = self.object_name(2, "trigger")
        self.expect("ON")
        scope = ""
        if self.accept("DATABASE"):
            scope = "DATABASE"
        elif self.accept_all("ALL", "SERVER"):
            scope = "ALL SERVER"
        table = None if scope else self.object_name(3)
        options, execute_as = self._options_of(
            ("ENCRYPTION", "NATIVE_COMPILATION", "SCHEMABINDING")
        )
        timing = "INSTEAD OF" if self.accept_all("INSTEAD", "OF") else "AFTER"
        if timing == "AFTER":
            self.expect_any("FOR", "AFTER")
        events = self.list_of(self.word if scope else self._trigger_event)
        replication = self.accept_all("NOT", "FOR", "REPLICATION")
        self.expect("AS")
        if self.words[self.i] == "EXTERNAL":
            self.not_supported("CLR triggers")
        body = self._body_to_end(returns_value=False)
        end = body[-1].end if body else self.last_end()
        if table is None:
            return CreateDdlTrigger(
                start, end, verb, name, options, execute_as, scope, events, body
            )
        return CreateTrigger(
            start, end, verb, name, options, execute_as, table, timing, events, body, replication
        )

    def _trigger_event(self) -> str:
        return self.expect_any("INSERT", "UPDATE", "DELETE")
