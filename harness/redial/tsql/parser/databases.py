"""CREATE DATABASE and ALTER DATABASE."""

from __future__ import annotations

from redial.tsql.ast import (
    AlterDatabase,
    AlterDatabaseSet,
    CreateDatabase,
    Identifier,
    Option,
    Statement,
)
from redial.tsql.keywords import DATABASE_OPTIONS
from redial.tsql.lexer import KEYWORD, WORD
from redial.tsql.parser.objects import ObjectParser

_ADDS = (("ADD", "LOG", "FILE"), ("ADD", "FILEGROUP"), ("ADD", "FILE"))
_REMOVES = (("REMOVE", "FILEGROUP"), ("REMOVE", "FILE"))

_WORD_OPTIONS = frozenset(
    {
        *("CURSOR_DEFAULT", "PAGE_VERIFY", "PARAMETERIZATION", "RECOVERY", "QUERY_STORE"),
        *("CONTAINMENT", "HADR", "PARTNER", "WITNESS"),
    }
)
"""Options whose value is a word without ``=``."""


class DatabaseParser(ObjectParser):
    """Databases."""

    def database(self, start: int, verb: str) -> Statement:
        """Read DATABASE after CREATE or ALTER."""
        after = self.words[self.i + 1]
        if after in ("AUDIT", "ENCRYPTION") or (after == "SCOPED" and verb == "CREATE"):
            self.not_supported(f"{verb} DATABASE {after}")
        self.expect("DATABASE")
        if verb == "CREATE":
            return self._create_database(start)
        if self.accept_all("SCOPED", "CONFIGURATION"):
            return self._scoped_configuration(start)
        name = None if self.accept("CURRENT") else self.identifier()
        if self.accept("SET"):
            return self._database_set(start, name)
        return self._alter_database(start, name)

    # ------------------------------------------------------------------------------------- CREATE
    def _create_database(self, start: int) -> CreateDatabase:
        name = self.identifier()
        database = CreateDatabase(start, start, name, None, [], [], None, [])
        if self.accept_all("CONTAINMENT", "="):
            database.containment = self.expect_any("NONE", "PARTIAL")
        if self.accept("ON"):
            self.accept("PRIMARY")
            database.files = self.list_of(self._file)
        if self.accept_all("LOG", "ON"):
            database.log = self.list_of(self._file)
        if self.accept("COLLATE"):
            database.collation = self.name()
        if self.accept("FOR"):
            database.attach = self.expect_any("ATTACH", "ATTACH_REBUILD_LOG")
        if self.words[self.i] == "AS":
            self.not_supported("CREATE DATABASE AS")
        if self.accept("WITH"):
            database.options = self.list_of(self._database_option)
        database.end = self.last_end()
        return database

    def _file(self) -> list[Option]:
        """Read ``[FILEGROUP name [CONTAINS ..] [DEFAULT]] (NAME = .., FILENAME = .., ..)``."""
        start = self.starts[self.i]
        group = []
        if self.accept("FILEGROUP"):
            name = self.identifier()
            if self.words[self.i] == "CONTAINS":
                self.not_supported("FILESTREAM and memory-optimized filegroups")
            self.accept("DEFAULT")
            group = [Option(start, self.last_end(), "FILEGROUP", name)]
        return group + self.option_list()

    # -------------------------------------------------------------------------------------- ALTER
    def _database_set(self, start: int, name: Identifier | None) -> AlterDatabaseSet:
        options = self.list_of(self._database_option)
        termination = seconds = None
        if self.accept("WITH"):
            if self.accept("NO_WAIT"):
                termination = "NO_WAIT"
            else:
                self.expect("ROLLBACK")
                if self.accept("IMMEDIATE"):
                    termination = "ROLLBACK IMMEDIATE"
                else:
                    self.expect("AFTER")
                    termination = "ROLLBACK AFTER"
                    seconds = self.whole_number()
                    self.accept("SECONDS")
        return AlterDatabaseSet(start, self.last_end(), name, options, termination, seconds)

    def _database_option(self) -> Option:
        """Read ``NAME``, ``NAME word``, ``NAME = value [unit]`` or ``NAME = ON (..)``."""
        i = self.i
        if self.words[i] not in DATABASE_OPTIONS:
            self.unexpected()
        option = Option(self.starts[i], self.ends[i], self.word())
        at = self.i
        if option.name in _WORD_OPTIONS and self.kinds[at] in (WORD, KEYWORD):
            option.value = Identifier(self.starts[at], self.ends[at], self.raw(at))
            self.i = at + 1
            option.end = self.last_end()
        else:
            self.option_value(option)
        return option

    def _alter_database(self, start: int, name: Identifier | None) -> AlterDatabase:
        options: list[Option] = []
        action = ""
        if self.accept("COLLATE"):
            action, options = "COLLATE", [self._named("COLLATE")]
        elif self.accept_all("MODIFY", "NAME"):
            self.expect("=")
            action, options = "MODIFY NAME", [self._named("NAME")]
        elif self.at("MODIFY", "FILEGROUP"):
            self.not_supported("ALTER DATABASE MODIFY FILEGROUP")
        elif self.accept_all("MODIFY", "FILE"):
            action, options = "MODIFY FILE", self.option_list()
        else:
            action, options = self._add_or_remove()
        return AlterDatabase(start, self.last_end(), name, action, options)

    def _add_or_remove(self) -> tuple[str, list[Option]]:
        for words in _ADDS[::2] + _REMOVES + _ADDS[1:2]:
            if not self.accept_all(*words):
                continue
            action = " ".join(words)
            if action in ("ADD FILE", "ADD LOG FILE"):
                files = self.list_of(self.option_list)
                options = [option for file in files for option in file]
                if self.accept_all("TO", "FILEGROUP"):
                    options.append(self._named("FILEGROUP"))
                return action, options
            return action, [self._named("NAME")]
        self.unexpected()

    def _named(self, name: str) -> Option:
        value = self.identifier()
        return Option(value.pos, value.end, name, value)

    def _scoped_configuration(self, start: int) -> AlterDatabase:
        """Read ``SET NAME = value`` or ``CLEAR NAME``."""
        verb = self.expect_any("SET", "CLEAR")
        i = self.i
        option = Option(self.starts[i], self.ends[i], self.word())
        while self.kinds[self.i] in (WORD, KEYWORD) and verb == "CLEAR":
            option.name += " " + self.word()
        if verb == "SET":
            self.option_value(option)
        action = f"SCOPED CONFIGURATION {verb}"
        return AlterDatabase(start, self.last_end(), None, action, [option])
