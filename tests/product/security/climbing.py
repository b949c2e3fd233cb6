"""What a member of a fixed role can become: tries all it can think of, and measures rights.

Everything is asked from the catalog, so a new object is attacked the day it appears. The same runs in
a database where nothing is installed: what a role may do anywhere is not our doing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.product.sql.lab import Client, Lab

CALLERS = ("app", "op", "reading")
"""Users of our three roles. Who calls a procedure lends his rights to whoever may ALTER it, in every
database: theirs are not counted as reached."""

SETUP = """
CREATE TABLE dbo.Secret (Name nvarchar(200) NULL, Body varbinary(max) NULL);
INSERT INTO dbo.Secret (Name) VALUES (N'salaries');
CREATE TABLE dbo.Loot (Who sysname NOT NULL, ByWhat nvarchar(200) NOT NULL);
GRANT INSERT ON dbo.Loot TO public;
CREATE USER climber WITHOUT LOGIN;
CREATE USER friend WITHOUT LOGIN;
CREATE USER app WITHOUT LOGIN;
CREATE USER op WITHOUT LOGIN;
CREATE USER reading WITHOUT LOGIN;
ALTER ROLE {role} ADD MEMBER climber;
"""

RIGHTS = """EXECUTE AS USER = N'{0}';
SELECT N'database', permission_name FROM sys.fn_my_permissions(NULL, N'DATABASE')
UNION SELECT N'schema dbo', permission_name FROM sys.fn_my_permissions(N'dbo', N'SCHEMA')
UNION SELECT N'dbo.Secret', permission_name FROM sys.fn_my_permissions(N'dbo.Secret', N'OBJECT')
    WHERE subentity_name = N''
UNION SELECT N'role', dp.name FROM sys.database_principals AS dp
    WHERE dp.is_fixed_role = 1 AND IS_MEMBER(dp.name) = 1;
REVERT;"""
MAY_BE = """EXECUTE AS USER = N'{0}';
SELECT dp.name FROM sys.database_principals AS dp
WHERE dp.type = 'S' AND dp.name NOT IN (N'{0}', N'sys', N'INFORMATION_SCHEMA')
    AND HAS_PERMS_BY_NAME(QUOTENAME(dp.name), N'USER', N'IMPERSONATE') = 1;
REVERT;"""

TABLES = (
    "CREATE TRIGGER {schema}.zz_{name} ON {0} AFTER INSERT, UPDATE, DELETE AS {loot}",
    "CREATE TRIGGER {schema}.zz_o_{name} ON {0} WITH EXECUTE AS OWNER AFTER INSERT, UPDATE, DELETE AS {loot}",
    "CREATE TRIGGER {schema}.zz_d_{name} ON {0} WITH EXECUTE AS N'dbo' "
    "AFTER INSERT, UPDATE, DELETE AS {loot}",
)
QUEUES = tuple(
    "ALTER QUEUE {0} WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.zz_loot, "
    f"MAX_QUEUE_READERS = 1, EXECUTE AS {who})"
    for who in ("N'dbo'", "SELF", "OWNER", "N'{module}'")
)
OBJECTS = (
    "ALTER AUTHORIZATION ON OBJECT::{0} TO climber",
    "GRANT CONTROL ON OBJECT::{0} TO friend",
    "GRANT ALTER ON OBJECT::{0} TO friend",
    "GRANT EXECUTE ON OBJECT::{0} TO friend",
    "GRANT SELECT ON OBJECT::{0} TO friend",
    "ALTER SCHEMA dbo TRANSFER {0}",
)
SECURABLES = {
    "SCHEMA": "SELECT name FROM sys.schemas WHERE schema_id BETWEEN 5 AND 16383 OR name = N'dbo'",
    "SERVICE": "SELECT name FROM sys.services WHERE service_id > 65535",
    "CONTRACT": "SELECT name FROM sys.service_contracts WHERE service_contract_id > 65535",
    "MESSAGE TYPE": "SELECT name FROM sys.service_message_types WHERE message_type_id > 65535",
    "CERTIFICATE": "SELECT name FROM sys.certificates",
}
USERS = (
    "EXECUTE AS USER = N'{0}'; REVERT",
    "GRANT IMPERSONATE ON USER::[{0}] TO friend",
    "GRANT CONTROL ON USER::[{0}] TO friend",
    "ALTER USER [{0}] WITH LOGIN = [spare]",
    "ALTER USER [{0}] WITH DEFAULT_SCHEMA = dbo",
)
ROLES = (
    "ALTER ROLE [{0}] ADD MEMBER climber",
    "ALTER ROLE [{0}] ADD MEMBER friend",
    "ALTER AUTHORIZATION ON ROLE::[{0}] TO climber",
)
ONCE = (
    "CREATE PROCEDURE dbo.zz_loot AS {loot}",
    "CREATE PROCEDURE dbo.zz_dbo WITH EXECUTE AS N'dbo' AS {loot}",
    "ALTER SCHEMA {schema} TRANSFER dbo.Secret",
    "CREATE SYNONYM {schema}.zz FOR dbo.Secret",
    "CREATE VIEW {schema}.zz_view AS SELECT Name FROM dbo.Secret",
    "CREATE USER zz WITHOUT LOGIN",
    "CREATE ROLE zz_role",
    "EXECUTE sys.sp_addrolemember N'db_owner', N'climber'",
)


@dataclass
class Climb:
    """One database, and a member of one fixed role at work in it."""

    lab: Lab
    role: str
    schema: str
    module: str

    def __post_init__(self) -> None:
        self.done: set[str] = set()
        """Statements that were allowed."""
        self.refused = 0
        for sql in SETUP.format(role=self.role).split(";\n"):
            self.lab.sa.execute(sql) if sql.strip() else None
        self.lab.sa.execute("CREATE LOGIN spare WITH PASSWORD = 'Strong-Word-1';")

    def act(self, who: str) -> Client:
        """A session that is somebody, for good."""
        client = Client(self.lab)
        client.execute(f"EXECUTE AS USER = N'{who}' WITH NO REVERT;")
        return client

    def attack(self, who: str) -> None:
        """Every attack on all there is, once."""
        client = self.act(who)
        for sql in list(self.attacks()):
            client.submit(sql)
            assert client.out.finished, f"waits: {sql}"
            if client.errors:
                self.refused += 1
                client.submit("IF @@TRANCOUNT > 0 ROLLBACK;")
            else:
                self.done.add(f"{who}: {sql}")

    def attacks(self) -> Iterator[str]:
        """Statements, most of which ought to be refused."""
        place = {"schema": self.schema, "module": self.module}
        for sql in ONCE:
            yield sql.format(loot=loot("once"), **place)
        rows = self.lab.rows(
            "SELECT SCHEMA_NAME(o.schema_id), o.name, RTRIM(o.type) FROM sys.objects AS o "
            "WHERE o.is_ms_shipped = 0 AND o.type IN ('U', 'SQ', 'P', 'TF', 'IF', 'FN', 'V') "
            "AND o.name NOT LIKE N'zz%' AND o.name <> N'Loot' ORDER BY o.name;"
        )
        for schema, name, kind in rows:
            verbs = {"U": TABLES, "SQ": QUEUES}.get(kind, ())
            here = place | {"schema": schema}
            for sql in (*verbs, *OBJECTS):
                yield sql.format(f"[{schema}].[{name}]", name=name, loot=loot(name), **here)
        for kind, query in SECURABLES.items():
            for (name,) in self.lab.rows(query):
                yield f"ALTER AUTHORIZATION ON {kind}::[{name}] TO climber"
                yield f"GRANT CONTROL ON {kind}::[{name}] TO friend"
        principals = (
            "SELECT name FROM sys.database_principals WHERE type = '{}' AND name NOT IN (N'dbo', "
            "N'guest', N'sys', N'INFORMATION_SCHEMA', N'public', N'climber', N'friend')"
        )
        for verbs, kind in ((USERS, "S"), (ROLES, "R")):
            for (name,) in self.lab.rows(principals.format(kind)):
                for sql in verbs:
                    yield sql.format(name)

    # ------------------------------------------------------------------ what was reached
    def reached(self) -> set[str]:
        """Whom the climber and a friend can act as, at any depth, and as whom a line of theirs ran."""
        found = {"climber", "friend"} | {
            who for (who,) in self.lab.rows("SELECT Who FROM dbo.Loot;")
        }
        while True:
            more = {name for who in found for (name,) in self.lab.rows(MAY_BE.format(who))} - found
            if not more:
                return found - set(CALLERS)
            found |= more

    def rights(self) -> dict[str, set[tuple[str, str]]]:
        """What each of them may do outside of what is ours."""
        return {who: set(self.lab.rows(RIGHTS.format(who))) for who in self.reached()}


def loot(name: str) -> str:
    """The line that says as whom it ran."""
    return f"INSERT INTO dbo.Loot (Who, ByWhat) VALUES (USER_NAME(), N'{name}')"


def altered(definition: str, name: str, clause: str) -> str:
    """A procedure with one line more, and this EXECUTE AS clause instead of its own."""
    text = re.sub(r"^\s*CREATE(\s+OR\s+ALTER)?\s", "CREATE OR ALTER ", definition, count=1)
    text = re.sub(r"WITH EXECUTE AS N'[^']+'\s*", "", text, count=1)
    text = re.sub(r"\nAS\n", f"\n{clause}\nAS\n", text, count=1)
    head, tail = text.split("\nBEGIN", 1)
    return f"{head}\nBEGIN {loot(name)};{tail}"
