"""Permissions, ownership, users, logins, roles."""

from __future__ import annotations

from redial.tsql.ast import (
    AlterAuthorization,
    AlterLogin,
    AlterRole,
    AlterUser,
    CreateLogin,
    CreateRole,
    CreateUser,
    Identifier,
    Option,
    Permission,
    PermissionName,
    Securable,
    Statement,
)
from redial.tsql.lexer import KEYWORD, WORD
from redial.tsql.parser.databases import DatabaseParser

SECURABLES = frozenset(
    {
        *("APPLICATION ROLE", "ASSEMBLY", "ASYMMETRIC KEY", "AVAILABILITY GROUP", "CERTIFICATE"),
        *("CONTRACT", "DATABASE", "ENDPOINT", "FULLTEXT CATALOG", "FULLTEXT STOPLIST", "LOGIN"),
        *("MESSAGE TYPE", "OBJECT", "REMOTE SERVICE BINDING", "ROLE", "ROUTE", "SCHEMA"),
        *("SEARCH PROPERTY LIST", "SERVER", "SERVER ROLE", "SERVICE", "SYMMETRIC KEY", "TYPE"),
        *("USER", "XML SCHEMA COLLECTION"),
    }
)
"""Classes before ``::`` (pages of GRANT)."""

_OF_COLUMNS = frozenset({"ALL", "ALL PRIVILEGES", "REFERENCES", "SELECT", "UPDATE"})

_USER_OPTIONS = (
    *("DEFAULT_SCHEMA", "DEFAULT_LANGUAGE", "SID", "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS"),
    *("PASSWORD", "NAME", "LOGIN", "OLD_PASSWORD"),
)
_LOGIN_OPTIONS = (
    *("PASSWORD", "OLD_PASSWORD", "SID", "DEFAULT_DATABASE", "DEFAULT_LANGUAGE", "CHECK_POLICY"),
    *("CHECK_EXPIRATION", "CREDENTIAL", "NAME"),
)


class SecurityParser(DatabaseParser):
    """Permissions and principals."""

    # -------------------------------------------------------------------------------- permissions
    def permission(self, start: int) -> Permission:
        """Read GRANT, DENY or REVOKE."""
        verb = self.word()
        grant_option = verb == "REVOKE" and self.accept_all("GRANT", "OPTION", "FOR")
        permissions = self.list_of(self._permission_name)
        securable = self.securable() if self.accept("ON") else None
        if securable is not None and self.words[self.i] == "(":
            self._columns_behind(permissions)
        if verb == "REVOKE":
            self.expect_any("TO", "FROM")
        else:
            self.expect("TO")
        principals = self.list_of(self._principal)
        if verb == "GRANT" and self.accept_all("WITH", "GRANT", "OPTION"):
            grant_option = True
        cascade = verb != "GRANT" and self.accept("CASCADE")
        grantor = self.identifier() if self.accept("AS") else None
        end = self.last_end()
        return Permission(
            start, end, verb, permissions, securable, principals, grant_option, cascade, grantor
        )

    def _columns_behind(self, permissions: list[PermissionName]) -> None:
        """Read the columns behind an object's name: they are those of every permission named.

        Only once (1019), and only of permissions that columns have (1020): GRANT Object
        Permissions page.
        """
        at = self.i
        columns = self.name_list()
        for permission in permissions:
            if permission.columns is not None:
                self.error(1019, at=at)
            if permission.name not in _OF_COLUMNS:
                self.error(1020, at=at)
            permission.columns = columns

    def _permission_name(self) -> PermissionName:
        start = self.starts[self.i]
        words = [self.word()]
        while self.kinds[self.i] in (WORD, KEYWORD) and not self._permission_ends():
            words.append(self.word())
        columns = self.name_list() if self.words[self.i] == "(" else None
        return PermissionName(start, self.last_end(), " ".join(words), columns)

    def _permission_ends(self) -> bool:
        return self.words[self.i] in ("ON", "TO", "FROM")

    def _principal(self) -> Identifier:
        i = self.i
        if self.accept("PUBLIC"):
            return Identifier(self.starts[i], self.ends[i], self.raw(i))
        return self.identifier()

    def securable(self) -> Securable:
        """Read ``[class::]name``."""
        first = i = self.i
        while self.kinds[i] in (WORD, KEYWORD):
            i += 1
        kind = None
        if self.words[i] == "::" and i > first:
            kind = " ".join(self.words[first:i])
            if kind not in SECURABLES:
                self.unexpected()
            self.i = i + 1
        name = self.object_name(3)
        return Securable(self.starts[first], self.last_end(), kind, name)

    def authorization(self, start: int, verb: str) -> Statement:
        """Read ALTER AUTHORIZATION after ALTER."""
        if verb != "ALTER":
            self.unexpected()
        self.expect("AUTHORIZATION", "ON")
        securable = self.securable()
        self.expect("TO")
        owner = None if self.accept_all("SCHEMA", "OWNER") else self.identifier()
        return AlterAuthorization(start, self.last_end(), securable, owner)

    # ---------------------------------------------------------------------------------- principals
    def user(self, start: int, verb: str) -> Statement:
        """Read USER."""
        self.expect("USER")
        name = self.identifier()
        if verb == "ALTER":
            self.expect("WITH")
            options = self.list_of(lambda: self._principal_option(_USER_OPTIONS))
            return AlterUser(start, self.last_end(), name, options)
        source, source_name = "", None
        if self.accept_all("WITHOUT", "LOGIN"):
            source = "WITHOUT LOGIN"
        elif self.accept_any("FOR", "FROM"):
            source, source_name = self._source("LOGIN")
        options = []
        if self.accept("WITH"):
            options = self.list_of(lambda: self._principal_option(_USER_OPTIONS))
        return CreateUser(start, self.last_end(), name, source, source_name, options)

    def _source(self, *more: str) -> tuple[str, Identifier | None]:
        """Read what a user or login is made from."""
        word = self.expect_any("CERTIFICATE", "ASYMMETRIC", "EXTERNAL", *more)
        if word == "EXTERNAL":
            self.expect("PROVIDER")
            return "EXTERNAL PROVIDER", None
        if word == "WINDOWS":
            return word, None
        if word == "ASYMMETRIC":
            self.expect("KEY")
            word = "ASYMMETRIC KEY"
        return word, self.identifier()

    def _principal_option(self, names: tuple[str, ...]) -> Option:
        """Read ``NAME = value``; behind a password HASHED, MUST_CHANGE, OLD_PASSWORD, UNLOCK."""
        i = self.i
        option = Option(self.starts[i], self.ends[i], self.expect_any(*names))
        self.expect("=")
        option.value = self._option_scalar()
        more = []
        while option.name == "PASSWORD":
            at = self.i
            word = self.accept_any("HASHED", "MUST_CHANGE", "UNLOCK", "OLD_PASSWORD")
            if not word:
                break
            extra = Option(self.starts[at], self.ends[at], word)
            if word == "OLD_PASSWORD":
                self.option_value(extra)
            more.append(extra)
        option.arguments = more or None
        option.end = self.last_end()
        return option

    def login(self, start: int, verb: str) -> Statement:
        """Read LOGIN."""
        self.expect("LOGIN")
        name = self.identifier()
        if verb == "ALTER":
            return self._alter_login(start, name)
        source, source_name = "PASSWORD", None
        options: list[Option] = []
        if self.accept("FROM"):
            source, source_name = self._source("WINDOWS")
            if self.accept("WITH"):
                options = self.list_of(lambda: self._principal_option(_LOGIN_OPTIONS))
        else:
            self.expect("WITH")
            if self.words[self.i] != "PASSWORD":
                self.unexpected()
            options = self.list_of(lambda: self._principal_option(_LOGIN_OPTIONS))
        return CreateLogin(start, self.last_end(), name, source, source_name, options)

    def _alter_login(self, start: int, name: Identifier) -> AlterLogin:
        word = self.accept_any("ENABLE", "DISABLE")
        if word:
            return AlterLogin(start, self.last_end(), name, word == "ENABLE", [])
        if self.words[self.i] in ("ADD", "DROP"):
            self.not_supported("credentials of a login")
        self.expect("WITH")
        options = self.list_of(lambda: self._principal_option(_LOGIN_OPTIONS))
        return AlterLogin(start, self.last_end(), name, None, options)

    def role(self, start: int, verb: str) -> Statement:
        """Read [SERVER] ROLE."""
        server = self.accept("SERVER")
        self.expect("ROLE")
        name = self.identifier()
        if verb == "CREATE":
            owner = self.owner()
            return CreateRole(start, self.last_end(), name, owner, server)
        if self.accept_all("WITH", "NAME"):
            self.expect("=")
            action = "NAME"
        else:
            action = self.expect_any("ADD", "DROP") + " MEMBER"
            self.expect("MEMBER")
        argument = self.identifier()
        return AlterRole(start, self.last_end(), name, action, argument, server)
