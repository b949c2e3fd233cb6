"""The whole parser: statement dispatch, statement lists, batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from redial.tsql.ast import (
    Batch,
    Label,
    Merge,
    Source,
    Statement,
    UpdateStatistics,
)
from redial.tsql.keywords import SOFT_STATEMENTS
from redial.tsql.lexer import END, QUOTED, WORD
from redial.tsql.parser.cursor import MAX_DEPTH
from redial.tsql.parser.keys import KeyParser

_MODULES = frozenset({"PROC", "PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"})
"""What CREATE OR ALTER takes."""

_REFUSED_OBJECTS = frozenset(
    {
        *("AGGREGATE", "APPLICATION", "ASSEMBLY", "AVAILABILITY", "COLUMN", "CRYPTOGRAPHIC"),
        *(
            "DEFAULT",
            "EXTERNAL",
            "FEDERATION",
            "FULLTEXT",
            "PARTITION",
            "RESOURCE",
            "RULE",
            "SEARCH",
        ),
        *("SECURITY", "SELECTIVE", "SENSITIVITY", "SPATIAL", "WORKLOAD"),
    }
)
"""Kinds of objects a server knows and Redial has no use for."""


class Parser(KeyParser):
    """The parser of one batch: make one, call ``batch`` once."""

    def batch(self) -> Batch:
        """Read the batch to its end."""
        statements: list[Statement] = []
        words = self.words
        while True:
            while words[self.i] == ";":
                self.i += 1
            if self.kinds[self.i] == END:
                break
            fresh = self.i == 0 or words[self.i - 1] in (";", ":")  # ":" ends a label
            if not statements and self._at_implicit_call():
                statements.append(self._terminate(self.implicit_execute(self.starts[self.i])))
            else:
                statements.append(self.statement(fresh))
            self.first_in_batch = False
        self._check_gotos()
        return Batch(0, len(self.text), statements, self.source)

    def _at_implicit_call(self) -> bool:
        """Tell whether the batch begins with a procedure's name."""
        i = self.i
        if self.kinds[i] == QUOTED:
            return True
        if self.kinds[i] != WORD:
            return False
        return self.words[i] not in SOFT_STATEMENTS and self.words[i + 1] != ":"

    def _check_gotos(self) -> None:
        for i in self.gotos:
            self.i = i
            name = self.name()
            if name.lower() not in self.labels:
                self.error(133, name, at=i)

    # ------------------------------------------------------------------------------ statement lists
    def statement(self, fresh: bool) -> Statement:
        """Read one statement and one ``;``.

        fresh: the statement before was terminated or a list begins here. Only then may a word that
        is not reserved (SEND, RECEIVE, GET, MOVE, THROW ..) begin a statement, and only then WITH.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep()
        self.statement_depth += 1
        i = self.i
        word = self.words[i]
        parse = _STATEMENTS.get(word)
        if parse is None:
            statement = self._label()
        elif not fresh and (word in SOFT_STATEMENTS or word == "WITH"):
            self.unexpected()
        else:
            self.statement_start = i
            statement = self._terminate(parse(self, self.starts[i]))
        self.statement_depth -= 1
        self.depth -= 1
        return statement

    def _terminate(self, statement: Statement) -> Statement:
        """Read the ``;`` after a statement and record it; set where the statement ends.

        The last statement inside an IF or module may have taken the ``;`` already.
        """
        last = self.i - 1
        if self.words[last] == ";":
            statement.terminated = True
            while self.words[last] == ";":
                last -= 1
        elif self.words[self.i] == ";":
            statement.terminated = True
            self.i += 1
        elif isinstance(statement, Merge):
            self.error(10713)
        statement.end = self.ends[last]
        return statement

    def _label(self) -> Statement:
        i = self.i
        if self.kinds[i] > QUOTED or self.words[i + 1] != ":":
            self.unexpected()
        name = self.name()
        if name.lower() in self.labels:
            self.error(132, name, at=i)
        self.labels.add(name.lower())
        self.i += 1
        label = Label(self.starts[i], self.last_end(), name)
        label.terminated = self.accept(";")
        return label

    def statement_list(self) -> list[Statement]:
        """Read statements up to END; END CONVERSATION is a statement, not the end."""
        statements: list[Statement] = []
        words = self.words
        fresh = True
        while True:
            while words[self.i] == ";":
                self.i += 1
                fresh = True
            if words[self.i] == "END" and words[self.i + 1] != "CONVERSATION":
                return statements
            if self.kinds[self.i] == END:
                self.unexpected()
            statement = self.statement(fresh)
            statements.append(statement)
            fresh = statement.terminated or isinstance(statement, Label)

    def statements_to_end(self) -> list[Statement]:
        """Read statements to the end of the batch."""
        statements: list[Statement] = []
        words = self.words
        fresh = True
        while True:
            while words[self.i] == ";":
                self.i += 1
                fresh = True
            if self.kinds[self.i] == END:
                return statements
            statement = self.statement(fresh)
            statements.append(statement)
            fresh = statement.terminated or isinstance(statement, Label)

    # ----------------------------------------------------------------------------- CREATE and ALTER
    def create(self, start: int) -> Statement:
        """Read CREATE, CREATE OR ALTER or ALTER of anything."""
        verb = self.word()
        if verb == "CREATE" and self.accept("OR"):
            self.expect("ALTER")
            verb = "CREATE OR ALTER"
        word = self.words[self.i]
        if verb == "CREATE OR ALTER" and word not in _MODULES:
            self.unexpected()
        parse = _OBJECTS.get(word)
        if parse is None:
            self.unknown_object()
        return parse(self, start, verb)

    def unknown_object(self) -> NoReturn:
        """Raise for a word that names no kind of object we take."""
        word = self.words[self.i]
        if word in _REFUSED_OBJECTS:
            self.not_supported(f"definitions of {word} objects")
        if self.kinds[self.i] == WORD:
            self.error(343, self.raw(self.i))
        self.unexpected()

    def _server_object(self, start: int, verb: str) -> Statement:
        if self.words[self.i + 1] != "ROLE":
            self.not_supported(f"{verb} SERVER {self.words[self.i + 1]}")
        return self.role(start, verb)

    def _event_object(self, start: int, verb: str) -> Statement:
        if self.words[self.i + 1] == "SESSION":
            self.not_supported(f"{verb} EVENT SESSION")
        return self.event_notification(start, verb)

    def _update(self, start: int) -> Statement:
        if self.words[self.i + 1] == "STATISTICS":
            statistics: UpdateStatistics = self.update_statistics(start)
            return statistics
        return self.update(start)

    def _refused_statement(self, start: int) -> Statement:
        self.not_supported(f"the statement {self.words[self.i]}")


_STATEMENTS: dict[str, Callable[[Parser, int], Statement]] = {
    "(": Parser.select_statement,
    "ADD": Parser.signature,
    "ALTER": Parser.create,
    "BACKUP": Parser.backup,
    "BEGIN": Parser.begin,
    "BREAK": Parser.break_,
    "CHECKPOINT": Parser.checkpoint,
    "CLOSE": Parser.close,
    "COMMIT": Parser.commit,
    "CONTINUE": Parser.continue_,
    "CREATE": Parser.create,
    "DBCC": Parser.dbcc,
    "DEALLOCATE": Parser.deallocate,
    "DECLARE": Parser.declare,
    "DELETE": Parser.delete,
    "DENY": Parser.permission,
    "DISABLE": Parser.enable_trigger,
    "DROP": Parser.drop,
    "ENABLE": Parser.enable_trigger,
    "END": Parser.end_conversation,
    "EXEC": Parser.execute,
    "EXECUTE": Parser.execute,
    "FETCH": Parser.fetch,
    "GET": Parser.get_conversation_group,
    "GOTO": Parser.goto,
    "GRANT": Parser.permission,
    "IF": Parser.if_,
    "INSERT": Parser.insert,
    "KILL": Parser.kill,
    "MERGE": Parser.merge,
    "MOVE": Parser.move_conversation,
    "OPEN": Parser.open_,
    "PRINT": Parser.print_,
    "RAISERROR": Parser.raise_error,
    "RECEIVE": Parser.receive,
    "RECONFIGURE": Parser.reconfigure,
    "RETURN": Parser.return_,
    "REVERT": Parser.revert,
    "REVOKE": Parser.permission,
    "ROLLBACK": Parser.rollback,
    "SAVE": Parser.save,
    "SELECT": Parser.select_statement,
    "SEND": Parser.send,
    "SET": Parser.set_,
    "THROW": Parser.throw,
    "TRUNCATE": Parser.truncate,
    "UPDATE": Parser._update,
    "USE": Parser.use,
    "WAITFOR": Parser.wait_for,
    "WHILE": Parser.while_,
    "WITH": Parser.with_statement,
    **dict.fromkeys(
        ("BULK", "READTEXT", "RESTORE", "SETUSER", "SHUTDOWN", "UPDATETEXT", "WRITETEXT"),
        Parser._refused_statement,
    ),
}

_OBJECTS: dict[str, Callable[[Parser, int, str], Statement]] = {
    "ASYMMETRIC": Parser.symmetric_key,
    "AUTHORIZATION": Parser.authorization,
    "BROKER": Parser.broker_priority,
    "CERTIFICATE": Parser.certificate,
    "CLUSTERED": Parser.index,
    "COLUMNSTORE": Parser.index,
    "CONTRACT": Parser.contract,
    "CREDENTIAL": Parser.credential,
    "DATABASE": Parser.database,
    "ENDPOINT": Parser.endpoint,
    "EVENT": Parser._event_object,
    "FUNCTION": Parser.create_function,
    "INDEX": Parser.index,
    "LOGIN": Parser.login,
    "MASTER": Parser.master_key,
    "MESSAGE": Parser.message_type,
    "NONCLUSTERED": Parser.index,
    "PRIMARY": Parser.xml_index,
    "PROC": Parser.create_procedure,
    "PROCEDURE": Parser.create_procedure,
    "QUEUE": Parser.queue,
    "REMOTE": Parser.remote_service_binding,
    "ROLE": Parser.role,
    "ROUTE": Parser.route,
    "SCHEMA": Parser.schema,
    "SEQUENCE": Parser.sequence,
    "SERVER": Parser._server_object,
    "SERVICE": Parser.service,
    "STATISTICS": Parser.create_statistics,
    "SYMMETRIC": Parser.symmetric_key,
    "SYNONYM": Parser.synonym,
    "TABLE": Parser.create_table,
    "TRIGGER": Parser.create_trigger,
    "TYPE": Parser.type_,
    "UNIQUE": Parser.index,
    "USER": Parser.user,
    "VIEW": Parser.create_view,
    "XML": Parser.xml_index,
}


def parse_batch(text: str, first_line: int = 1, quoted_identifier: bool = True) -> Batch:
    """Parse one batch.

    text: T-SQL without GO; first_line: line of its first character in the script, for positions;
    quoted_identifier: "x" is a name (SET QUOTED_IDENTIFIER ON) or a string (OFF).
    Raises TsqlSyntaxError with the server's number and text; TsqlNotSupported (number 60001) for
    T-SQL that a server takes and this parser does not.
    """
    source = Source(text, first_line)
    parser = Parser(source, quoted_identifier)
    try:
        return parser.batch()
    except RecursionError:
        # The caller's own stack was almost used up; our limits alone would have been enough.
        parser.too_deep()
