"""05_preflight: servers and databases that cannot take an installation. Each is refused before anything
is made, by every shipped configuration, also where errors stop nothing (F-139)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from redial.cli.configs import chosen, load_named
from redial.config import Config
from redial_broker.exec import replicas
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.probing import unprobed
from tests.installed import rendered, split

from . import catalog
from .bare import Bare, another, installation, installer
from .lab import AUDIT, Client

NAMES = chosen(None)
LAST_STATE = 127


def database(bare: Bare) -> Database:
    return bare.sa.session.database


def everything(bare: Bare, config: Config) -> list[int]:
    """The files as sqlcmd sends them, which ends at an error of state 127. The numbers of all errors."""
    found: list[int] = []
    with unprobed(bare.instance.server):
        for sql in installer(config):
            found += bare.attempt(sql)
            if any(error.state == LAST_STATE for error in bare.sa.errors):
                break
    return found


def refusal(bare: Bare, config: Config = AUDIT) -> tuple[int, str]:
    """Number and text of the first error; (0, '') when it installs."""
    number = bare.stops(installer(config))
    return number, bare.sa.errors[0].text if number else ""


# ---------------------------------------------------------------------- the server
@pytest.mark.sampled(every=5, meets=("product", "name"))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("product", "number", "said"),
    [
        ("2014", 50221, "version 12.0.6024.0; needed is 13.0.4001"),
        ("2016 RTM", 50222, "version 13.0.1601.5; needed is 13.0.4001"),
        ("Azure SQL Database", 50222, "engine edition 5, Azure SQL Database"),
    ],
)
def test_a_server_without_what_is_needed_is_refused_by_its_version(product, number, said, name):
    """And not by its grammar, though it would not take most of what is in the script."""
    config = load_named(name)
    bare = Bare(product=product)
    before = bare.catalog()
    assert refusal(bare, config)[0] == number
    assert said in bare.sa.errors[0].text and "Next: " in bare.sa.errors[0].text
    assert bare.sa.errors[0].state == 127  # sqlcmd ends here (F-493)
    assert everything(bare, config) == [number]
    assert catalog.difference(before, bare.catalog()) == []


@pytest.mark.sampled(every=5, meets=("product", "name"))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("product", ["2016 SP1", "2019", "2022 Express", "Managed Instance"])
def test_every_configuration_installs_on_what_is_supported(product, name):
    bare = Bare(product=product)
    assert everything(bare, load_named(name)) == []


def test_the_batch_of_the_preflight_is_one_an_old_server_can_compile():
    """What came with 2016 and later; each part of it stands alone, so nothing after it matters."""
    text = rendered(AUDIT)["05_preflight.check.sql"]
    assert len([b for b in split(text) if "DECLARE" in b.sql]) == 1
    code = re.sub(r"/\*.*?\*/|N?'(?:[^']|'')*'", "", text, flags=re.S)
    newer = r"CREATE OR ALTER|DROP \w+ IF EXISTS|AT TIME ZONE"
    names = r"\b(?:OPENJSON|STRING_AGG|STRING_SPLIT|TRIM|CONCAT_WS|JSON_\w+)\b"
    assert re.findall(f"{newer}|{names}", code) == []


# ---------------------------------------------------------------------- the database
def level(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET COMPATIBILITY_LEVEL = 120;"])


def read_only(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET READ_ONLY;"])


def single_user(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET SINGLE_USER;"])


def secondary(bare: Bare) -> None:
    replicas.join_group(database(bare), primary=False)


def owner_lost(bare: Bare) -> None:
    replicas.lose_owner(database(bare))


def owner_null(bare: Bare) -> None:
    replicas.lose_owner(database(bare), None)


def off_in_a_group(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET DISABLE_BROKER;"])
    replicas.join_group(database(bare))


def owner_of_two_minds(bare: Bare) -> None:
    """A failover: the server's owner is one of its logins, and dbo is another."""
    bare.run(["CREATE LOGIN dba WITH PASSWORD = N'Some-Word-1';"])
    ((sid,),) = bare.rows("SELECT SUSER_SID(N'dba');")
    replicas.lose_owner(database(bare), sid)


def not_durable(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET DELAYED_DURABILITY = FORCED;"])


def contained(bare: Bare) -> None:
    database(bare).options["containment"] = "PARTIAL"


def copy_beside_its_original(bare: Bare) -> None:
    bare.run(["CREATE DATABASE original; ALTER DATABASE lab SET DISABLE_BROKER;"])
    database(bare).broker.guid = bare.instance.database("original").broker.guid


def open_transaction(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET DISABLE_BROKER;", "BEGIN TRANSACTION;"])


def implicit_transactions(bare: Bare) -> None:
    bare.run(["ALTER DATABASE lab SET DISABLE_BROKER;", "SET IMPLICIT_TRANSACTIONS ON;"])


STATES: dict[str, tuple[Callable[[Bare], None], int, str]] = {
    "level 120": (level, 50223, "SET COMPATIBILITY_LEVEL = 130;"),
    "read-only": (read_only, 50223, "ALTER DATABASE [lab] SET READ_WRITE;"),
    "single user": (single_user, 50223, "ALTER DATABASE [lab] SET MULTI_USER;"),
    "secondary": (secondary, 50223, "connect to the primary replica"),
    "owner of another server": (
        owner_lost,
        50223,
        "ALTER AUTHORIZATION ON DATABASE::[lab] TO [sa]",
    ),
    "no owner": (owner_null, 50223, "has an owner this server does not know"),
    "two owners": (owner_of_two_minds, 50223, "has one owner in sys.databases and another as user"),
    "not durable": (not_durable, 50223, "SET DELAYED_DURABILITY = DISABLED; or ALLOWED"),
    "contained": (contained, 50223, "ALTER DATABASE [lab] SET CONTAINMENT = NONE;"),
    "a copy beside its original": (
        copy_beside_its_original,
        50224,
        "on in [original], which has the same broker identity",
    ),
    "off in a group": (off_in_a_group, 50224, "REMOVE DATABASE [lab]"),
}


@pytest.mark.sampled(every=5, meets=("state", "name"))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("state", STATES)
def test_a_database_that_cannot_take_it_is_refused_with_the_statement_that_helps(state, name):
    arrange, number, said = STATES[state]
    config = load_named(name)
    bare = Bare()
    arrange(bare)
    before = bare.catalog()
    assert everything(bare, config) == [number]
    assert refusal(bare, config)[0] == number
    text = bare.sa.errors[0].text
    assert said in text and "Nothing was done. Next: " in text
    assert catalog.difference(before, bare.catalog()) == []


@pytest.mark.parametrize("arrange", [open_transaction, implicit_transactions])
def test_a_transaction_in_which_the_broker_cannot_be_switched_on_is_refused(arrange):
    """The files refuse every open transaction (50228); batch by batch the server said 226."""
    bare = Bare()
    arrange(bare)
    assert bare.stops(installation(AUDIT)) == 50224
    assert "COMMIT; SET IMPLICIT_TRANSACTIONS OFF;" in bare.sa.errors[0].text
    bare.attempt("IF @@TRANCOUNT > 0 ROLLBACK; SET IMPLICIT_TRANSACTIONS OFF;")
    assert bare.stops(installation(AUDIT)) == 0


def test_durability_that_each_commit_chooses_is_taken():
    bare = Bare()
    bare.run(["ALTER DATABASE lab SET DELAYED_DURABILITY = ALLOWED;"])
    assert refusal(bare) == (0, "")


def test_a_contained_database_of_the_catalog_s_collation_is_no_reason():
    text = rendered(AUDIT)["05_preflight.check.sql"]
    mine = "SELECT collation_name FROM sys.databases WHERE name = N'lab';"
    bare = Bare()
    contained(bare)
    ((collation,),) = bare.rows(mine)
    (batch,) = [b.sql for b in split(text) if "DECLARE" in b.sql]
    bare.run([batch.replace("N'Latin1_General_100_CI_AS_WS_KS_SC'", f"N'{collation}'")])


def test_a_database_that_closes_by_itself_is_warned_of():
    bare = Bare()
    bare.run(["ALTER DATABASE lab SET AUTO_CLOSE ON;"])
    (batch,) = [
        b.sql for b in split(rendered(AUDIT)["05_preflight.check.sql"]) if "DECLARE" in b.sql
    ]
    bare.run([batch])
    (said,) = [m.text for m in bare.sa.out.messages]
    assert said.startswith("Warning: [lab] has AUTO_CLOSE ON") and "AUTO_CLOSE OFF;" in said


@pytest.mark.parametrize("name", ["master", "tempdb", "model", "msdb"])
def test_a_system_database_takes_no_installer(name):
    bare = Bare()
    bare.sa.execute(f"USE {name};")
    number, text = refusal(bare)
    assert number == (50221 if name == "master" else 50223)  # its broker is off as well
    assert f"[{name}] is a system database" in text
    assert bare.rows("SELECT SCHEMA_ID(N'audit');") == [(None,)]


def test_a_group_with_the_broker_on_takes_it_and_so_does_what_was_mended():
    bare = Bare()
    replicas.join_group(database(bare))
    assert refusal(bare) == (0, "")
    bare = Bare()
    owner_lost(bare)
    bare.run(["ALTER AUTHORIZATION ON DATABASE::lab TO [sa];"])
    assert refusal(bare) == (0, "")


# ---------------------------------------------------------------------- all at once
def test_everything_that_is_wrong_is_told_in_one_error_with_a_next_step_each():
    config = another(AUDIT, schema="dbo", roles={"module_is_db_owner": True})
    bare = Bare()
    bare.run(
        [
            "CREATE TABLE dbo.Landing (Id int NOT NULL); CREATE ROLE audit_module; "
            "CREATE USER helper WITHOUT LOGIN; GRANT CONTROL TO helper;"
            "CREATE QUEUE dbo.Theirs; CREATE SERVICE [//redial/audit/target] ON QUEUE dbo.Theirs;"
            "CREATE MESSAGE TYPE [//redial/audit/event] VALIDATION = EMPTY;"
            "ALTER DATABASE lab SET COMPATIBILITY_LEVEL = 120;"
        ]
    )
    owner_lost(bare)
    bare.sa.execute("EXECUTE AS USER = N'helper';")
    number, text = refusal(bare, config)
    printed = [m.text for m in bare.sa.out.messages if m.severity <= 10]
    assert number == 50221
    assert text.startswith(f"{len(printed)} things are in the way, and nothing was done.")
    told = "\n".join(printed)
    for said in (
        "compatibility level 120",
        "has an owner this server does not know",
        "Missing: membership in db_owner",
        "[roles].module [audit_module] is a database role",
        "user table [dbo].[Landing]",
        "Message type '//redial/audit/event' has another validation",
        "Service '//redial/audit/target' is in this database already",
    ):
        assert said in told
    assert all(" Next: " in line for line in printed)
    assert len(text) <= 2048 and ("printed above" in text) == (len(told) > 1900)


def test_a_percent_sign_in_a_name_is_told_as_it_is():
    config = another(AUDIT, roles={"module": "100%d"})
    bare = Bare()
    bare.run(["CREATE ROLE [100%d];"])
    assert "[roles].module [100%d] is a database role" in refusal(bare, config)[1]


def test_what_is_in_the_way_of_others_is_not_in_ours():
    """A second configuration's service, a role of ours, a table in another schema."""
    bare = Bare()
    bare.run(
        [
            "CREATE ROLE audit_reader; CREATE TABLE dbo.Landing (Id int NOT NULL);"
            "CREATE QUEUE dbo.Theirs; CREATE SERVICE [//theirs] ON QUEUE dbo.Theirs;"
        ]
    )
    assert refusal(bare) == (0, "")
    assert Client(bare).value("OBJECT_ID(N'audit.usp_Send', N'P')")
