"""[target].database: sender and target apart on one instance, with full dialog security.

Service Broker Dialog Security page, F-181 to F-183, F-251 (a switch). No TRUSTWORTHY, no login.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from redial.config import parse
from redial.deploy.apply import installation
from redial.paths import CONFIGS
from redial_broker.instance.requests import Batch
from tests.installed import batches, rendered

from .bare import MAY_LOSE
from .lab import configured
from .two import CONFIG, DEPOT, SHOP, Two

NO_ENTRY = 'is not able to access the database "' + DEPOT + '"'


@pytest.fixture
def two() -> Two:
    return Two()


def test_a_message_lands_in_the_other_database(two):
    two.send("0xAB")
    two.send("0xCD")
    two.instance.advance(5)
    assert two.bodies() == [b"\xab", b"\xcd"]
    assert (
        two.run(
            "SELECT is_trustworthy_on FROM sys.databases WHERE database_id > 4 "
            "AND is_trustworthy_on = 1;"
        )
        == []
    )


def test_dialogs_are_recycled_and_end_on_both_sides(two):
    two.send()
    two.instance.advance(90)
    assert two.endpoints(SHOP) == [] and two.endpoints(DEPOT) == [("CD", 0)]
    assert two.depot("SELECT COUNT(*) FROM audit.Landing WHERE MessageType = N'EndOfStream';") == [
        (1,)
    ]
    two.send()
    two.instance.advance(5)
    assert len(two.bodies()) == 2
    assert two.run("SELECT COUNT(*) FROM audit.ErrorLog;") == [(0,)]
    assert two.depot("SELECT COUNT(*) FROM audit.ErrorLog;") == [(0,)]


def test_the_target_acts_as_a_user_who_may_send_to_one_service_and_nothing_else(two):
    rows = two.depot(
        "SELECT p.permission_name, p.class_desc FROM sys.database_permissions AS p WHERE "
        "p.grantee_principal_id = DATABASE_PRINCIPAL_ID(N'redial_audit_initiator');"
    )
    assert sorted(rows) == [("CONNECT", "DATABASE"), ("SEND", "SERVICE")]
    keys = "SELECT name, pvt_key_encryption_type, USER_NAME(principal_id) FROM sys.certificates;"
    assert sorted(two.run(keys)) == [
        ("redial_audit_initiator", "MK", "audit_module"),
        ("redial_audit_target", "NA", "redial_audit_target"),
    ]
    assert sorted(two.depot(keys)) == [
        ("redial_audit_initiator", "NA", "redial_audit_initiator"),
        ("redial_audit_target", "MK", "audit_module"),
    ]


def test_without_the_right_to_send_the_message_is_kept_and_accounted_for(two):
    """-8494 is not one of the codes a resend can heal (F-111)."""
    two.depot("REVOKE SEND ON SERVICE::[//redial/audit/target] FROM redial_audit_initiator;")
    two.send("0xEE")
    two.instance.advance(5)
    assert two.bodies() == []
    assert two.run("SELECT Side, Body, Code FROM audit.DeadLetter;") == [
        ("initiator", b"\xee", -8494)
    ]


def test_where_certificates_count_for_nothing_messages_wait_and_are_not_lost():
    """F-251, the switch certificates_in_instance = ignored."""
    two = Two(certificates_in_instance="ignored")
    two.send("0xEE")
    two.instance.advance(5)
    ((status, body),) = two.run(
        "SELECT transmission_status, message_body FROM sys.transmission_queue;"
    )
    assert NO_ENTRY in status and body == b"\xee"


def test_a_target_that_is_off_for_a_while_gets_everything_later(two):
    two.depot("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    two.send("0x01")
    two.send("0x02")
    two.depot("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    two.instance.advance(70)
    assert two.bodies() == [b"\x01", b"\x02"]


def test_the_route_leads_to_the_one_database_although_another_has_such_a_service(two):
    """A restored copy of the target, say: AutoCreatedLocal would take whichever comes first."""
    ((guid,),) = two.run(
        "SELECT broker_instance FROM sys.routes WHERE name = N'redial_audit_target';"
    )
    assert two.run(
        "SELECT name FROM sys.databases WHERE CONVERT(nvarchar(36), "
        f"service_broker_guid) = N'{guid}';"
    ) == [(DEPOT,)]


def test_installing_again_changes_no_key_and_no_conversation(two):
    two.send("0x01")
    keys = two.run("SELECT name, thumbprint FROM sys.certificates ORDER BY name;")
    two.deploy()
    assert two.run("SELECT name, thumbprint FROM sys.certificates ORDER BY name;") == keys
    two.send("0x02")
    two.instance.advance(5)
    assert two.bodies() == [b"\x01", b"\x02"]
    assert two.run("SELECT COUNT(*) FROM audit.ConversationLog;") == [(1,)]


def test_a_target_that_was_installed_anew_is_known_by_its_new_key(two):
    two.send("0x01")
    two.instance.advance(90)
    two.run(MAY_LOSE)
    for name in ("uninstall.sql", "target/uninstall.sql", "target/purge_data.sql"):
        two.script(name, seconds=100)
    two.deploy()
    two.send("0x02")
    two.instance.advance(5)
    assert two.bodies() == [b"\x02"]


@pytest.mark.parametrize("purged", [True, False], ids=["purged", "data kept"])
def test_uninstall_leaves_both_catalogs_as_they_were(purged):
    two = Two(deployed=False)
    before = two.catalog()
    two.deploy()
    two.send("0x01")
    for name in ("uninstall.sql", "target/uninstall.sql"):
        two.script(name, seconds=100)
    if not purged:
        kept = {
            k: v
            for k, v in two.catalog().items()
            if k[1]
            in {"certificates", "symmetric_keys", "remote_service_bindings", "routes", "services"}
        }
        assert kept == {k: before[k] for k in kept}
        assert two.bodies() == [b"\x01"]
        return
    two.run(MAY_LOSE)
    for name in ("purge_data.sql", "target/purge_data.sql"):
        two.script(name)
    assert two.catalog() == before


OTHER = configured(
    target={"database": DEPOT},
    timer={"after_seconds": 60, "spread_seconds": 0},
    envelope={"who": True},
)
"""Another choice that both sides must know: what the bytes of a message mean."""


def changing(two: Two) -> None:
    """From here on ``two`` has the files of the other choice."""
    two.config, two.files = OTHER, rendered(OTHER)


def first_error(two: Two, folder: str, database: str) -> Any:
    """As sqlcmd -b goes through one side's files; the error it stops at."""
    for name in installation(two.files):
        if ("/" in name) == bool(folder):
            error = two.script_error(name, database)
            if error:
                return error
    return None


def test_a_change_of_choices_goes_the_way_its_refusals_name(two):
    """50198, 50197, then usp_Drain, both sides, usp_OpenGate: nothing is lost on the way."""
    two.send("0x01")
    two.instance.advance(5)
    before = two.catalog()
    changing(two)
    error = first_error(two, "", SHOP)
    assert error.number == 50198 and "envelope.who is '0' there and '1' here" in error.text
    error = first_error(two, "target/", DEPOT)
    assert error.number == 50197 and "envelope.who 0 -> 1" in error.text
    assert two.catalog() == before
    assert two.run("SELECT IsOpen FROM audit.Gate;") == [(True,)]
    two.send("0x02")

    drain, reopen = re.findall(r"EXECUTE (.+?;)", error.text)
    two.session.execute(f"USE {SHOP};")
    two.session.submit(Batch(f"EXECUTE {drain}"))
    two.instance.advance(600)
    assert (
        two.fail(
            f"EXECUTE audit.usp_Send N'{OTHER.services.initiator}', "
            f"N'{OTHER.services.target}', N'{OTHER.contract.name}', "
            f"N'{OTHER.message_types[0].name}', 0x03;"
        ).number
        == 50102
    )
    assert first_error(two, "target/", DEPOT) is None
    assert first_error(two, "", SHOP) is None
    assert two.run("SELECT IsOpen FROM audit.Gate;") == [(False,)]
    two.run(f"EXECUTE {reopen}")
    two.send("0x04")
    two.instance.advance(90)
    assert two.bodies() == [b"\x01", b"\x02", b"\x04"]
    assert two.depot("SELECT COUNT(*) FROM audit.Landing WHERE SenderLogin IS NOT NULL;") == [(1,)]
    for database in (SHOP, DEPOT):
        assert two.run("SELECT COUNT(*) FROM audit.ErrorLog;", database) == [(0,)]


def test_numbers_alone_ask_for_no_drain_in_two_databases(two):
    two.send("0x01")
    two.config = configured(target={"database": DEPOT, "readers": 4}, timer={"after_seconds": 99})
    two.files = rendered(two.config)
    two.deploy()
    two.send("0x02")
    two.instance.advance(5)
    assert two.bodies() == [b"\x01", b"\x02"]


def test_a_master_key_that_was_there_stays():
    two = Two(deployed=False)
    two.run("CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Own-Word-1';")
    two.deploy()
    for name in ("uninstall.sql", "target/uninstall.sql"):
        two.script(name, seconds=100)
    key = "SELECT COUNT(*) FROM sys.symmetric_keys;"
    assert two.run(key) == [(1,)] and two.depot(key) == [(0,)]


def test_a_master_key_of_ours_that_somebody_else_uses_stays(two):
    two.run("CREATE CERTIFICATE theirs WITH SUBJECT = N'x';")
    two.script("uninstall.sql", seconds=100)
    assert two.run("SELECT COUNT(*) FROM sys.symmetric_keys;") == [(1,)]
    two.run("DROP CERTIFICATE theirs;")
    two.script("uninstall.sql", seconds=100)
    assert two.run("SELECT COUNT(*) FROM sys.symmetric_keys;") == [(0,)]


def test_a_master_key_the_server_cannot_open_is_refused():
    two = Two(deployed=False)
    two.depot(
        "CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Own-Word-1'; "
        "ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY;"
    )
    with pytest.raises(AssertionError, match="50207"):
        two.deploy()


def test_each_side_refuses_the_others_database():
    two = Two(deployed=False)
    assert two.script_error("05_preflight.check.sql", DEPOT).number == 50206
    assert two.script_error("target/05_preflight.check.sql", SHOP).number == 50206
    assert two.script_error("05_preflight.check.sql", SHOP) is None


def test_the_senders_side_says_when_the_targets_is_missing():
    two = Two(deployed=False)
    parts = [n for n in two.files if n[:2].isdigit() and n < "62"]
    for name in parts:
        two.script(name)
    assert two.script_error("62_01_keys.exchange.sql", SHOP).number == 50205
    two.run("USE master; DROP DATABASE [de]]pot's];")
    assert two.script_error("05_preflight.check.sql", SHOP).number == 50204


def test_each_file_of_the_target_goes_to_its_database_first(two):
    files = [name for name in two.files if re.fullmatch(r"(target/)?\d_\w+\.sql", name)]
    assert len(files) > 12
    for name in files:
        start = two.files[name].split("\nGO\n", 1)[0]
        assert ("\nUSE [de]]pot's];" in start) == name.startswith("target/"), name


def run_files(bare: Two, folder: str) -> list[int]:
    """The files of one side from the sender's database, errors or not; the numbers of the errors."""
    bare.run("SELECT 1;")
    texts = [
        text for name, text in bare.files.items() if re.fullmatch(folder + r"\d_\w+\.sql", name)
    ]
    return [
        error.number
        for text in texts
        for sql in batches(text)
        for error in bare.session.execute(sql).errors
    ]


def test_the_files_of_both_sides_make_what_their_parts_make(two):
    """Each run from the sender's database, the target's first; the sender's alone is refused before."""
    bare = Two(deployed=False)
    refused = run_files(bare, "")
    assert refused[0] == 50205 and set(refused[1:]) == {50233}
    for folder, database in (("target/", DEPOT), ("", SHOP)):
        assert run_files(bare, folder) == []
        assert bare.session.execute("SELECT DB_NAME();").rows() == [(database,)]
    assert {key: len(rows) for key, rows in bare.catalog().items()} == {
        key: len(rows) for key, rows in two.catalog().items()
    }


def test_no_password_and_no_key_is_rendered(two):
    for name, text in two.files.items():
        assert not re.search(r"PASSWORD\s*=\s*N?'[^']+'(?!')", text), name
        assert "FROM BINARY = 0x" not in text, name


def test_a_config_file_asks_for_it_with_one_line():
    text = (CONFIGS / "audit.toml").read_text(encoding="utf-8")
    config = parse(text.replace("[target]\n", '[target]\ndatabase = "Depot"\n'))
    assert config.target.database == "Depot" and CONFIG.target.database == DEPOT


def test_a_dialog_on_a_contract_without_landed_ends_at_the_target_first():
    """From before the sender's copies: an answer would be refused for ever (8431), and five
    rollbacks switch the queue off.
    """
    old = "//redial/audit/contract/0"
    two = Two(configured(target={"database": DEPOT}, contract={"previous": [old]}))
    for database in (SHOP, DEPOT):
        two.run(
            f"CREATE CONTRACT [{old}] ([//redial/audit/event] SENT BY INITIATOR, "
            "[EndOfStream] SENT BY INITIATOR);",
            database,
        )
    two.depot(f"ALTER SERVICE [//redial/audit/target] (ADD CONTRACT [{old}]);")
    two.run(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        f"TO SERVICE N'//redial/audit/target' ON CONTRACT [{old}]; "
        "SEND ON CONVERSATION @h MESSAGE TYPE [//redial/audit/event] (0xA1); "
        "SEND ON CONVERSATION @h MESSAGE TYPE [EndOfStream];"
    )
    two.instance.advance(5)
    assert two.bodies() == [b"\xa1"]
    assert two.endpoints(SHOP) == [] and two.endpoints(DEPOT) == [("CD", 0)]
    assert two.depot("SELECT COUNT(*) FROM audit.ErrorLog;") == [(0,)]
    two.send("0xA2")
    two.instance.advance(5)
    assert two.bodies() == [b"\xa1", b"\xa2"]
    assert two.run("SELECT COUNT(*) FROM audit.SentMessage;") == [(0,)]


def test_a_second_sender_is_refused_before_it_takes_the_first_ones_place(two):
    """Its key would replace the first's: the first's messages would wait, with its verify green."""
    two.run("CREATE DATABASE other;", "master")
    error = two.script_error("05_preflight.check.sql", "other")
    assert error.number == 50232 and f"'{SHOP}'" in error.text
    two.send("0x01")
    two.instance.advance(5)
    assert two.bodies() == [b"\x01"]


def test_a_sender_whose_broker_is_new_is_still_the_same_one(two):
    two.run("ALTER DATABASE shop SET NEW_BROKER WITH ROLLBACK IMMEDIATE;", "master")
    two.deploy()
    two.send("0x01")
    two.instance.advance(5)
    assert two.bodies() == [b"\x01"]


def test_who_follows_a_sender_that_is_gone_takes_the_mark_away_as_the_text_says(two):
    two.run("CREATE DATABASE other;", "master")
    text = two.script_error("05_preflight.check.sql", "other").text
    two.run(re.search(r"USE \[.*?'; and deploy", text)[0].removesuffix(" and deploy"))
    assert two.script_error("05_preflight.check.sql", "other") is None
