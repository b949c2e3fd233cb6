"""Scenarios of what is wrong with the database, its rights and what is installed."""

from __future__ import annotations

from redial.quoting import quote_name
from redial_broker.exec import replicas
from tests.product.sql.lab import Client, Lab, configured, send

from .scenario import Scenario, deploy, steps

ENCRYPTED = configured(conversation={"encryption": True})
KEY = "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Some-Word-1';"
ALONE = "ALTER DATABASE CURRENT SET {} WITH ROLLBACK IMMEDIATE;"


def lose_owner(lab: Lab) -> None:
    replicas.lose_owner(lab.instance.database("lab"))


def restored_copy(lab: Lab, name: str = "co]py") -> None:
    """Beside its original: with its broker off, as RESTORE leaves it, and the same identity."""
    quoted = quote_name(name)
    lab.sa.execute(f"CREATE DATABASE {quoted}; ALTER DATABASE {quoted} SET DISABLE_BROKER;")
    copy, original = (lab.instance.database(each) for each in (name, "lab"))
    copy.broker.guid = original.broker.guid


def other_owner(lab: Lab) -> None:
    lab.sa.execute("CREATE LOGIN dba WITH PASSWORD = N'Some-Word-1';")
    replicas.lose_owner(lab.instance.database("lab"), lab.sa.value("SUSER_SID(N'dba')"))


def sent_and_left(lab: Lab) -> None:
    """A caller that goes: who enables the broker waits for all the others."""
    client = Client(lab)
    client.execute(send("0x02"))
    lab.instance.disconnect(client.session)


SCENARIOS = {
    "broker-off": Scenario(ALONE.format("DISABLE_BROKER")),
    "broker-off: with messages": Scenario(
        steps(ALONE.format("DISABLE_BROKER"), sent_and_left),
        after=400,
        also=frozenset({"unlanded-long", "pending-broker-off"}),
        rest=60,
    ),
    "database-without-owner": Scenario(lose_owner),
    "broker-identity-twice": Scenario(restored_copy),
    "database-with-two-owners": Scenario(
        # The stand-in gives dbo the SID of sa whoever owns the database.
        other_owner,
        mend="ALTER AUTHORIZATION ON DATABASE::[lab] TO [sa];",
    ),
    "committed-not-durable": Scenario("ALTER DATABASE lab SET DELAYED_DURABILITY = FORCED;"),
    "database-closes-by-itself": Scenario("ALTER DATABASE lab SET AUTO_CLOSE ON;"),
    "database-read-only": Scenario(ALONE.format("READ_ONLY")),
    "database-for-one-user": Scenario(ALONE.format("SINGLE_USER")),
    "level-too-low": Scenario("ALTER DATABASE lab SET COMPATIBILITY_LEVEL = 120;"),
    "master-key: missing": Scenario(
        "DROP MASTER KEY;", config=ENCRYPTED, before=KEY, mend=KEY.replace("-1", "-2")
    ),
    "master-key: closed": Scenario(
        "ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY;",
        config=ENCRYPTED,
        before=KEY,
        mend="OPEN MASTER KEY DECRYPTION BY PASSWORD = N'Some-Word-1'; "
        "ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY;",
    ),
    "priority-missing": Scenario(
        "DECLARE @sql nvarchar(300) = (SELECT TOP (1) CONCAT(N'DROP BROKER PRIORITY ', "
        "QUOTENAME(name), N';') FROM sys.conversation_priorities); EXECUTE (@sql);",
        config=configured(priority={"level": 7}),
    ),
    "pending-not-visible": Scenario(
        "ALTER ROLE db_owner DROP MEMBER audit_module;",
        config=configured(roles={"module_is_db_owner": True}),
    ),
    "service-not-ours: gone": Scenario("DROP SERVICE [//redial/audit/target];", mend=deploy),
    "service-not-ours: of another": Scenario(
        "ALTER AUTHORIZATION ON SERVICE::[//redial/audit/initiator] TO dbo;"
    ),
    "gate-closed": Scenario("UPDATE audit.Gate SET IsOpen = 0;"),
    "deployment-unfinished": Scenario(
        "UPDATE audit.Gate SET IsOpen = 0; "
        "INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.gate', N'closed');"
    ),
}
