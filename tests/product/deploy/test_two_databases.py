"""apply, verify and uninstall of a configuration whose target has a database of its own."""

from contextlib import closing

import pytest

from redial.config import load
from redial.deploy import DeployError, apply, uninstall, verify
from redial.paths import CONFIGS
from redial.render.quoting import quote_name

from .by_hand import deployed
from .conftest import two_databases

pytestmark = pytest.mark.driver
SHOP, DEPOT = "shop", "de]pot"
AUDIT = load(CONFIGS / "audit.toml")
CONFIG = AUDIT.model_copy(
    update={"target": AUDIT.target.model_copy(update={"database": DEPOT, "receive_wait_ms": 0})}
)


@pytest.fixture
def connect():
    """Connections to the sender's database; the target's is beside it, empty."""
    with two_databases(SHOP, DEPOT) as (_, connect):
        yield connect


@pytest.fixture(scope="module")
def both():
    """A broker in which both databases are installed; each test goes back to that."""
    with two_databases(SHOP, DEPOT) as (broker, connect):
        apply(CONFIG, connect)
        assert verify(CONFIG, connect) == []
        yield broker, connect


@pytest.fixture
def installed(both):
    broker, connect = both
    moment = broker.call(lambda instance: instance.snapshot())
    yield connect
    broker.call(lambda instance: moment.restore())


def rows(connect, sql: str) -> list[tuple]:
    with closing(connect()) as connection:
        return [tuple(row) for row in connection.cursor().execute(sql).fetchall()]


def run(connect, sql: str) -> None:
    with closing(connect()) as connection:
        connection.cursor().execute(sql)


def test_both_databases_are_installed_verified_and_removed(connect):
    report = apply(CONFIG, connect)
    first_target = next(n for n in report.files if n.startswith("target/"))
    assert report.files.index("05_preflight.check.sql") < report.files.index(first_target)
    assert report.files.index("target/87_queues.activation.sql") < report.files.index(
        "62_01_keys.exchange.sql"
    )
    assert verify(CONFIG, connect) == []
    assert rows(
        connect, f"SELECT OBJECT_ID(N'{quote_name(DEPOT)}.audit.usp_TargetActivation')"
    ) != [(None,)]
    assert rows(connect, "SELECT OBJECT_ID(N'audit.usp_TargetActivation')") == [(None,)]
    there = f"{quote_name(DEPOT)}.audit.DeadLetter"
    run(
        connect,
        f"INSERT INTO {there} (Side, ConversationHandle, MessageSequence) VALUES (N'target', NEWID(), 7);",
    )
    with pytest.raises(DeployError, match=r"target/purge_data\.sql, counting.*Msg 50143"):
        uninstall(CONFIG, connect, purge_data=True)
    assert verify(CONFIG, connect) == []  # neither side was touched
    done = uninstall(CONFIG, connect, purge_data=True, purge_rows=1_000_000)
    assert done.files == [
        "purge_data.sql, counting",
        "target/purge_data.sql, counting",
        "uninstall.sql",
        "target/uninstall.sql",
        "purge_data.sql",
        "target/purge_data.sql",
    ]
    assert (
        rows(
            connect,
            "SELECT name FROM sys.certificates UNION ALL SELECT name FROM "
            f"{quote_name(DEPOT)}.sys.certificates",
        )
        == []
    )


def test_verify_names_what_is_missing_between_the_databases(connect):
    apply(CONFIG, connect)
    run(connect, "DROP REMOTE SERVICE BINDING redial_audit_target; DROP ROUTE redial_audit_target;")
    found = " ".join(verify(CONFIG, connect))
    assert (
        "remote service binding redial_audit_target is missing. Who may: db_owner. Next: redial deploy"
        in found
    )
    assert "route redial_audit_target is missing. Who may: db_owner. Next: redial deploy" in found
    apply(CONFIG, connect)
    assert verify(CONFIG, connect) == []


def test_a_target_database_that_is_not_there_is_said_before_anything_is_done(connect):
    run(connect, f"USE master; DROP DATABASE {quote_name(DEPOT)};")
    with pytest.raises(DeployError) as caught:
        apply(CONFIG, connect)
    assert caught.value.number == 50204
    assert rows(connect, "SELECT COUNT(*) FROM sys.schemas WHERE name = N'audit'") == [(0,)]
    assert any(DEPOT in line for line in verify(CONFIG, connect))


CHANGES = {
    # what somebody does by hand, in which database, and the finding
    "a binding that asks for no user": (
        SHOP,
        "ALTER REMOTE SERVICE BINDING redial_audit_target WITH ANONYMOUS = ON;",
        "remote service binding redial_audit_target: anonymous is on, not off",
    ),
    "a binding to another user": (
        SHOP,
        "ALTER REMOTE SERVICE BINDING redial_audit_target WITH USER = audit_module;",
        "remote service binding redial_audit_target: user is audit_module, not redial_audit_target",
    ),
    "a route to another place": (
        SHOP,
        "ALTER ROUTE redial_audit_target WITH ADDRESS = N'TCP://elsewhere:4022';",
        "route redial_audit_target: address is TCP://elsewhere:4022, not LOCAL",
    ),
    "a route for another service": (
        SHOP,
        "ALTER ROUTE redial_audit_target WITH SERVICE_NAME = N'x';",
        "route redial_audit_target: service is x, not ",
    ),
    "a new broker behind the route": (
        DEPOT,
        f"ALTER DATABASE {quote_name(DEPOT)} SET NEW_BROKER WITH ROLLBACK IMMEDIATE;",
        "route redial_audit_target: leads to is a broker that is no database here, not de]pot",
    ),
    "another certificate of the same name": (
        DEPOT,
        "DROP CERTIFICATE redial_audit_initiator; CREATE CERTIFICATE redial_audit_initiator "
        "AUTHORIZATION redial_audit_initiator ENCRYPTION BY PASSWORD = N'Pa55word!' "
        "WITH SUBJECT = N'x', EXPIRY_DATE = N'20991231'; "
        "ALTER CERTIFICATE redial_audit_initiator REMOVE PRIVATE KEY;",
        "certificate redial_audit_initiator: public key is ",
    ),
    "a certificate that begins no dialog": (
        SHOP,
        "ALTER CERTIFICATE redial_audit_initiator WITH ACTIVE FOR BEGIN_DIALOG = OFF;",
        "certificate redial_audit_initiator: for dialogs is off, not on",
    ),
    "a route with a mirror": (
        SHOP,
        "ALTER ROUTE redial_audit_target WITH ADDRESS = N'TCP://one:4022', MIRROR_ADDRESS = "
        "N'TCP://mirror:4022';",
        "route redial_audit_target: mirror is TCP://mirror:4022, not nothing",
    ),
    "a route that ends one day": (
        SHOP,
        "ALTER ROUTE redial_audit_target WITH LIFETIME = 3600;",
        "route redial_audit_target: expires is ",
    ),
    "a binding for another service": (
        SHOP,
        "DROP REMOTE SERVICE BINDING redial_audit_target; CREATE REMOTE SERVICE BINDING "
        "redial_audit_target TO SERVICE N'x' WITH USER = redial_audit_target, ANONYMOUS = OFF;",
        "remote service binding redial_audit_target: service is x, not ",
    ),
    "a binding that has changed hands": (
        SHOP,
        "ALTER AUTHORIZATION ON REMOTE SERVICE BINDING::redial_audit_target TO dbo;",
        "remote service binding redial_audit_target: owner is dbo, not audit_module",
    ),
    "a certificate without its private key": (
        SHOP,
        "ALTER CERTIFICATE redial_audit_initiator REMOVE PRIVATE KEY;",
        "certificate redial_audit_initiator: private key is none, not master key",
    ),
    "a certificate is gone": (
        SHOP,
        "DROP CERTIFICATE redial_audit_initiator;",
        "certificate redial_audit_initiator is missing",
    ),
    "a route is gone": (
        SHOP,
        "DROP ROUTE redial_audit_target;",
        "route redial_audit_target is missing",
    ),
    "a binding is gone": (
        SHOP,
        "DROP REMOTE SERVICE BINDING redial_audit_target;",
        "remote service binding redial_audit_target is missing",
    ),
    "an index of the target's table is gone": (
        DEPOT,
        "ALTER TABLE audit.DeadLetter DROP CONSTRAINT PK_DeadLetter;",
        "index PK_DeadLetter of DeadLetter is missing",
    ),
    "a right on the target's table": (
        DEPOT,
        "GRANT SELECT ON audit.Landing TO public;",
        "permission SELECT to public on OBJECT Landing is there, and no file",
    ),
    "a certificate that has changed hands": (
        SHOP,
        "ALTER AUTHORIZATION ON CERTIFICATE::redial_audit_initiator TO dbo;",
        "certificate redial_audit_initiator: owner is dbo, not audit_module",
    ),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_by_hand_between_the_databases_is_named_and_mended(installed, what):
    database, sql, finding = CHANGES[what]
    # 1. somebody changes something
    run(installed, f"USE {quote_name(database)}; {sql}")
    lines = [line for line in verify(CONFIG, installed) if finding in line]
    assert len(lines) == 1, verify(CONFIG, installed)
    assert lines[0].startswith((f"in {SHOP}: ", f"in {DEPOT}: "))
    # 2. a deployment does what verify says, in the database it says
    undo = "--undo runs this" in lines[0]
    assert deployed(CONFIG, installed, undo=undo) == 0
    assert verify(CONFIG, installed) == []


def test_a_master_key_that_the_server_opens_no_more_is_named_once_with_what_opens_it(installed):
    """Both where a deployment has kept what was there and where none has."""
    with_password = "OPEN MASTER KEY DECRYPTION BY PASSWORD = N'Own-Word-1';"
    run(
        installed,
        "ALTER MASTER KEY ADD ENCRYPTION BY PASSWORD = N'Own-Word-1'; "
        "ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY;",
    )
    [line] = verify(CONFIG, installed)
    assert line.startswith(
        "in shop: database itself: master key encrypted by server is off, not on. "
    )
    run(
        installed,
        line.rsplit(" Next: ", 1)[1].replace(
            "OPEN MASTER KEY DECRYPTION BY PASSWORD = N'...';", with_password
        ),
    )
    assert verify(CONFIG, installed) == []
