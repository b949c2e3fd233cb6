"""What a configuration made goes with it, what it found stays, whoever goes first."""

import pytest

from redial.config import Config

from . import catalog
from .bare import Bare, another, installation, second
from .lab import AUDIT, Client, configured, send

CONTRACTS = "SELECT COUNT(*) FROM sys.service_contracts WHERE name LIKE N'//redial/%';"
HOSTILE = another(
    AUDIT,
    name="hostile",
    schema="sch]ema'; DROP TABLE x--",
    services={"initiator": "//in'it]iator", "target": "//tar]get'"},
    queues={"initiator": "In]'itiator", "target": "Tar]'get"},
    contract={"name": "con]tract'", "end_of_stream": "End]Of'Stream"},
    message_types=[{"name": "ty]pe'", "validation": "none"}],
    roles={
        "module": "mod]ule'",
        "sender": "sen]der'",
        "operator": "oper]ator'",
        "reader": "rea]der'",
    },
)


SHOUTED = another(
    second(),
    services={"initiator": "//REDIAL/audit/initiator", "target": "//REDIAL/audit/target"},
    contract={"name": "//REDIAL/audit/contract", "end_of_stream": "ENDOFSTREAM"},
    message_types=[{"name": "//REDIAL/audit/event", "validation": "none"}],
)
"""Beside AUDIT: names that are others byte for byte, and the same to the database's collation."""


@pytest.fixture
def bare() -> Bare:
    return Bare()


@pytest.mark.parametrize("config", [AUDIT, HOSTILE], ids=["audit", "hostile names"])
def test_uninstall_and_purge_leave_the_catalog_identical_to_before(bare: Bare, config: Config):
    """Feature versions: uninstall --purge-data."""
    before = bare.catalog()
    bare.deploy(config)
    assert catalog.difference(before, bare.catalog()) != []
    bare.remove(config)
    assert catalog.difference(before, bare.catalog()) == []


@pytest.mark.parametrize("first_out", [0, 1])
def test_two_configs_that_share_contract_types_and_roles_go_in_either_order(bare, first_out):
    """Two configs in one database; the maker of the shared objects may go first."""
    before = bare.catalog()
    configs = [AUDIT, second()]
    bare.deploy(configs[0])
    only_first = bare.catalog()
    bare.deploy(configs[1])
    leaver, stayer = configs[first_out], configs[1 - first_out]
    bare.remove(leaver)
    if leaver is configs[1]:
        assert catalog.difference(only_first, bare.catalog()) == []
    text = send("0x77").replace("audit.usp_Send", f"{stayer.schema_name}.usp_Send")
    text = text.replace("//redial/audit/initiator", stayer.services.initiator)
    text = text.replace("//redial/audit/target", stayer.services.target)
    Client(bare).execute(text)
    bare.advance(5)
    landed = bare.rows(f"SELECT Body FROM {stayer.schema_name}.Landing;")
    assert landed == [(b"\x77",)]
    bare.remove(stayer)
    assert catalog.difference(before, bare.catalog()) == []


def test_what_was_there_before_is_never_dropped(bare):
    bare.run(
        [
            "CREATE USER audit_module WITHOUT LOGIN;",
            "CREATE ROLE audit_sender; CREATE ROLE audit_operator; CREATE ROLE audit_reader;",
            "CREATE SCHEMA audit AUTHORIZATION dbo;",
            "CREATE MESSAGE TYPE EndOfStream VALIDATION = EMPTY;",
            "CREATE MESSAGE TYPE [//redial/audit/event] VALIDATION = NONE;",
            "CREATE CONTRACT [//redial/audit/contract] ([//redial/audit/event] SENT BY INITIATOR, "
            "EndOfStream SENT BY INITIATOR);",
        ]
    )
    before = bare.catalog()
    bare.deploy(AUDIT)
    Client(bare).execute(send("0x01"))
    bare.advance(5)
    assert bare.bodies() == [b"\x01"]
    bare.remove(AUDIT)
    assert catalog.difference(before, bare.catalog()) == []


def test_a_membership_of_db_owner_that_was_there_before_stays_where_it_is_wanted(bare):
    member = configured(roles={"module_is_db_owner": True})
    bare.run(
        [
            "CREATE USER audit_module WITHOUT LOGIN;",
            "ALTER ROLE db_owner ADD MEMBER audit_module;",
        ]
    )
    before = bare.catalog()
    bare.deploy(member)
    bare.remove(member)
    assert catalog.difference(before, bare.catalog()) == []


def test_and_is_taken_away_where_the_configuration_says_so(bare):
    """Whoever may ALTER one of our procedures would else be db_owner, by whomever it was given."""
    bare.run(
        [
            "CREATE USER audit_module WITHOUT LOGIN;",
            "ALTER ROLE db_owner ADD MEMBER audit_module;",
        ]
    )
    bare.deploy(AUDIT)
    assert bare.rows("SELECT IS_ROLEMEMBER(N'db_owner', N'audit_module');") == [(0,)]


def test_a_service_of_somebody_else_is_refused_before_anything_is_changed(bare):
    bare.run(
        [
            "CREATE QUEUE dbo.Theirs;",
            "CREATE SERVICE [//redial/audit/target] ON QUEUE dbo.Theirs;",
        ]
    )
    assert bare.stops(installation(AUDIT)) == 50194
    bare.run(["DROP SERVICE [//redial/audit/target]; DROP QUEUE dbo.Theirs;"])
    bare.deploy(AUDIT)


def test_a_shared_message_type_with_another_validation_is_refused(bare):
    bare.deploy(AUDIT)
    other = second(
        contract={"name": "//second/contract"},
        message_types=[{"name": "//redial/audit/event", "validation": "well_formed_xml"}],
    )
    assert bare.stops(installation(other)) == 50193


def test_a_contract_somebody_elses_service_still_uses_stays_and_goes_with_a_later_owner(bare):
    bare.deploy(AUDIT)
    bare.run(
        [
            "CREATE QUEUE dbo.Theirs;",
            "CREATE SERVICE [//theirs] ON QUEUE dbo.Theirs ([//redial/audit/contract]);",
        ]
    )
    bare.remove(AUDIT)
    assert bare.rows(CONTRACTS) == [(1,)]
    bare.run(["DROP SERVICE [//theirs]; DROP QUEUE dbo.Theirs;"])
    bare.deploy(AUDIT)
    bare.remove(AUDIT)
    assert bare.rows(CONTRACTS) == [(0,)]
    assert bare.rows("SELECT COUNT(*) FROM sys.extended_properties;") == [(0,)]


@pytest.mark.parametrize("collation", ["binary", "database"])
def test_names_that_differ_by_case_only_are_two_configurations(collation):
    """Services are matched byte for byte (F-376): neither changing nor removing one touches the
    other's dialogs.
    """
    bare = Bare(broker_names=collation)
    before = bare.catalog()
    bare.deploy(AUDIT)
    bare.deploy(SHOUTED)
    text = send("0x77").replace("audit.usp_Send", "second.usp_Send")
    client = Client(bare)
    client.execute(text.replace("//redial", "//REDIAL"))
    bare.advance(5)
    ((handle,),) = bare.rows("SELECT Handle FROM second.SessionConversations;")
    bare.deploy(another(AUDIT, conversation={"key": "application"}))
    bare.remove(AUDIT)
    assert bare.rows("SELECT Handle FROM second.SessionConversations;") == [(handle,)]
    client.execute(text.replace("//redial", "//REDIAL"))
    bare.advance(5)
    assert bare.rows("SELECT Body FROM second.Landing;") == [(b"\x77",), (b"\x77",)]
    bare.remove(SHOUTED)
    assert catalog.difference(before, bare.catalog()) == []


def test_a_message_type_in_another_case_is_named_as_a_wrong_one(bare: Bare):
    bare.deploy(AUDIT)
    assert Client(bare).fail(send(message_type="//redial/AUDIT/event")) == 50100
