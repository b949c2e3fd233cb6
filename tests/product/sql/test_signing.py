"""security.signing = certificate: rights by signature instead of a module user in db_owner.

Feature signing and permissions row: Rusanu's posts on signing an activated procedure; F-180.
"""

from __future__ import annotations

import re

import pytest

from redial.config.choices import Signing
from redial.deploy.apply import installation as in_order
from redial.render import signed_modules
from tests.installed import rendered, split

from .bare import MAY_LOSE
from .lab import AUDIT, Lab, configured, send

SIGNING = configured(security={"signing": Signing.CERTIFICATE})
MEMBER = configured(roles={"module_is_db_owner": True})
OURS_TO_TAKE = "SELECT name FROM sys.extended_properties WHERE name = N'Redial.db_owner';"
MEMBERS = (
    "SELECT USER_NAME(m.member_principal_id) FROM sys.database_role_members AS m "
    "WHERE m.member_principal_id <> 1;"
)
CERTIFICATES = "SELECT name, pvt_key_encryption_type FROM sys.certificates;"
SIGNED = "SELECT OBJECT_NAME(cp.major_id) FROM sys.crypt_properties AS cp ORDER BY 1;"


@pytest.fixture
def lab() -> Lab:
    return Lab(SIGNING)


def deploy(lab: Lab, config=SIGNING, until: str = "99") -> list[int]:
    """Install over what is there, parts below ``until``; the numbers of errors, as sqlcmd -b."""
    files = rendered(config)
    for name in in_order(files):
        if name[:2] < until:
            for batch in split(files[name]):
                lab.sa.submit(batch.sql)
                if lab.sa.errors:
                    return [error.number for error in lab.sa.errors]
    return []


def run_script(lab: Lab, name: str, config=SIGNING) -> None:
    for batch in split(rendered(config)[name]):
        lab.sa.submit(batch.sql)
        lab.advance(100)
        assert not lab.sa.errors, lab.sa.errors


def leave_pending(lab: Lab) -> None:
    """A dialog the target ends with an error while a message of it is still pending."""
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    lab.sa.execute(send("0xAA"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    lab.sa.execute(send("0xBB"))
    (target,) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target[0]}' WITH ERROR = 77 DESCRIPTION = N'no';")
    lab.settle()


def test_the_module_user_is_in_no_role_and_the_private_key_is_gone(lab):
    ((name, protection),) = lab.rows(CERTIFICATES)
    assert name.startswith("redial_audit_signing_") and protection == "NA"
    assert lab.rows(MEMBERS) == [(name,)]
    assert lab.rows("SELECT is_active_for_begin_dialog FROM sys.certificates;") == [(0,)]


def test_what_is_signed_reads_the_servers_views_and_touches_nothing_of_ours(lab):
    """Else who may ALTER a callee, a view, or a table's trigger had the right of db_owner."""
    texts = dict(
        lab.rows(
            "SELECT o.name, m.definition FROM sys.sql_modules AS m INNER JOIN sys.objects AS o "
            "ON o.object_id = m.object_id;"
        )
    )
    signed = {name for (name,) in lab.rows(SIGNED)}
    assert signed == {"ufn_Pending", "usp_SeesPending"} == set(signed_modules(rendered(SIGNING)))
    for name in signed:
        code = re.sub(r"/\*.*?\*/|'(?:[^']|'')*'", "", texts[name], flags=re.S)
        body = code[re.search(r"\bBEGIN\b", code).start() :]
        assert "[audit]" not in body and not re.search(r"\bEXEC(UTE)?\b", body), name
        assert set(re.findall(r"(?:FROM|JOIN|APPLY)\s+([\w.]+)", body)) <= {
            "sys.transmission_queue"
        }
        assert set(re.findall(r"(?:INSERT INTO|UPDATE|DELETE|MERGE)\s+(\S+)", body)) <= {"@pending"}


def test_nobody_can_sign_anything_else_with_it(lab):
    lab.sa.execute("CREATE PROCEDURE dbo.usp_Mine AS SELECT IS_MEMBER(N'db_owner');")
    ((name, _),) = lab.rows(CERTIFICATES)
    assert lab.sa.fail(f"ADD SIGNATURE TO dbo.usp_Mine BY CERTIFICATE [{name}];") == 15556
    assert lab.sa.fail(f"EXECUTE AS USER = N'{name}';") == 15517


def test_no_password_is_rendered():
    for name, text in rendered(SIGNING).items():
        assert not re.search(r"PASSWORD\s*=\s*N?'[^']+'(?!')", text), name
    assert "CRYPT_GEN_RANDOM" in rendered(SIGNING)["79_modules.signature.sql"]


def test_the_password_is_another_each_time_and_fits_a_policy():
    """The generated text: 64 hexadecimal digits and an end with every class of character."""
    lab = Lab()
    expression = "CONVERT(nvarchar(64), CRYPT_GEN_RANDOM(32), 2) + N'aZ9!'"
    assert expression in rendered(SIGNING)["79_modules.signature.sql"]
    first, second = lab.sa.value(expression), lab.sa.value(expression)
    assert len(first) == 68 and first != second


def test_pending_messages_are_seen_and_accounted_for(lab):
    leave_pending(lab)
    lab.advance(5)
    assert lab.rows("SELECT Body, Code FROM audit.DeadLetter;") == [(b"\xaa", 77), (b"\xbb", 77)]
    assert lab.rows("SELECT EndedUtc FROM audit.ConversationLog WHERE EndedUtc IS NULL;") == []


def test_an_operator_may_look_for_leaks_without_being_in_db_owner(lab):
    lab.sa.execute("CREATE USER op WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER op;")
    lab.sa.execute("EXECUTE AS USER = N'op'; EXECUTE audit.usp_EndLeaked; REVERT;")


def test_an_operator_sees_pending_messages_in_the_view_without_being_in_db_owner(lab):
    """The function behind vw_Pending is signed: a view cannot be (F-241)."""
    lab.sa.execute(
        "CREATE USER op WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER op; "
        "ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;"
    )
    lab.sa.execute(send("0xBB"))
    seen = "EXECUTE AS USER = N'op'; SELECT COUNT(*) FROM audit.vw_Pending; REVERT;"
    assert lab.rows(seen) == [(1,)]
    assert lab.rows(
        "EXECUTE AS USER = N'op'; SELECT COUNT(*) FROM sys.transmission_queue; REVERT;"
    ) == [(0,)]


def test_each_deployment_signs_anew_and_leaves_one_certificate(lab):
    ((before, _),) = lab.rows(CERTIFICATES)
    signed = lab.rows(SIGNED)
    assert deploy(lab) == []
    ((after, protection),) = lab.rows(CERTIFICATES)
    assert after != before and protection == "NA"
    assert lab.rows(MEMBERS) == [(after,)] and lab.rows(SIGNED) == signed


def test_a_dialog_that_ends_in_the_middle_of_a_deployment_is_accounted_for(lab):
    """CREATE OR ALTER has dropped the signatures (F-241); what ends a dialog needs none."""
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    leave_pending(lab)
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = ON);")
    assert deploy(lab, until="79") == []
    assert lab.rows(SIGNED) == []
    lab.advance(5)
    assert lab.rows("SELECT Body FROM audit.DeadLetter;") == [(b"\xaa",), (b"\xbb",)]
    assert lab.errors() == []
    assert ("audit_module",) not in lab.rows(MEMBERS)
    assert deploy(lab) == []


def test_from_membership_to_signature_and_back_nothing_is_left_over():
    lab = Lab(MEMBER)
    assert lab.rows(MEMBERS) == [("audit_module",)] and lab.rows(CERTIFICATES) == []
    assert deploy(lab, SIGNING) == []
    ((name, _),) = lab.rows(CERTIFICATES)
    assert lab.rows(MEMBERS) == [(name,)] and lab.rows(OURS_TO_TAKE) == []
    assert deploy(lab, MEMBER) == []
    assert lab.rows(MEMBERS) == [("audit_module",)]
    assert lab.rows(CERTIFICATES) == [] and lab.rows(SIGNED) == []
    assert lab.sa.value(f"DATABASE_PRINCIPAL_ID(N'{name}')") is None


def test_where_a_signature_does_not_count_the_first_deployment_takes_it_back():
    """F-180: the switch signer_is_member = ignored."""
    lab = Lab(signer_is_member="ignored")
    for name in ("uninstall.sql", "purge_data.sql"):
        run_script(lab, name, AUDIT)
    assert deploy(lab) == [50201]
    assert lab.rows(CERTIFICATES) == [] and lab.rows(MEMBERS) == []
    assert lab.rows(
        "SELECT COUNT(*) FROM sys.service_queues WHERE is_activation_enabled = 1 "
        "AND is_ms_shipped = 0;"
    ) == [(0,)]


def test_where_it_does_not_count_a_working_installation_goes_on_with_its_membership():
    lab = Lab(MEMBER, signer_is_member="ignored")
    assert deploy(lab) == [50201]
    assert lab.rows(CERTIFICATES) == [] and lab.rows(MEMBERS) == [("audit_module",)]
    leave_pending(lab)
    lab.advance(5)
    assert lab.rows("SELECT Body FROM audit.DeadLetter;") == [(b"\xaa",), (b"\xbb",)]


@pytest.mark.parametrize("config", [AUDIT, SIGNING, MEMBER], ids=["none", "signed", "member"])
def test_a_conversation_that_is_over_is_cleaned_up_for_a_member_of_db_owner(config):
    """28006, with the caller's right: nothing of ours lends it."""
    lab = Lab(config)
    lab.sa.execute("CREATE USER op WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER op;")
    call = "EXECUTE AS USER = N'op'; EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = 0; REVERT;"
    lab.sa.execute(send("0x01"))
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(10)
    lab.instance.engine.timers.entries.clear()  # nobody else removes it
    lab.instance.clock.advance(31 * 60)
    ((*_, outcome),) = lab.rows(call)
    assert outcome.startswith("kept: only a member of db_owner cleans up what is CLOSED (28006)")
    assert "Next: " in outcome and len(lab.endpoints()) == 1
    lab.sa.execute("ALTER ROLE db_owner ADD MEMBER op;")
    assert lab.rows(call)[0][-1] == "done"
    assert lab.endpoints() == []


def test_a_member_from_before_loses_the_membership_and_is_told_and_all_works():
    """An installation of the earlier default, deployed again."""
    lab = Lab(MEMBER)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    lab.sa.execute(send("0x01"))
    said = []
    for name, text in rendered(AUDIT).items():
        for batch in split(text) if name[:2].isdigit() else ():
            lab.sa.submit(batch.sql)
            assert not lab.sa.errors, lab.sa.errors
            said += [m.text for m in lab.sa.out.messages]
    (line,) = [text for text in said if "no member of db_owner any more" in text]
    assert "[audit_module]" in line and "roles.module_is_db_owner = false" in line
    assert lab.rows(MEMBERS) == [] and lab.rows(OURS_TO_TAKE) == []
    lab.sa.execute(send("0x02"))
    lab.advance(70)
    assert {"queue off"} == {
        kind for (kind,) in lab.rows("SELECT StatusKind FROM audit.vw_Pending;")
    }
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x02"]
    run_script(lab, "uninstall.sql", AUDIT)
    lab.sa.execute(MAY_LOSE)
    run_script(lab, "purge_data.sql", AUDIT)
    assert lab.sa.value("DATABASE_PRINCIPAL_ID(N'audit_module')") is None


def test_uninstall_takes_certificate_and_user_along(lab):
    for name in ("uninstall.sql", "purge_data.sql"):
        run_script(lab, name)
    assert lab.rows(CERTIFICATES) == [] and lab.rows(MEMBERS) == []
    assert (
        lab.rows(
            "SELECT name FROM sys.database_principals WHERE principal_id > 4 AND is_fixed_role = 0;"
        )
        == []
    )


def test_two_configurations_in_one_database_do_not_drop_each_others_signers(lab):
    """Names of one that begin like the other's: a, and a_signing_b."""
    other = SIGNING.model_copy(update={"name": "audit_signing_b"})
    prefix = "redial_audit_signing_b_signing_"
    lab.sa.execute(
        "CREATE CERTIFICATE [" + prefix + "0" * 36 + "] ENCRYPTION BY PASSWORD = "
        "'Some-Word-1' WITH SUBJECT = 'x';"
    )
    assert deploy(lab) == []
    assert len(lab.rows(CERTIFICATES)) == 2
    assert prefix in rendered(other)["79_modules.signature.sql"]


def test_a_signature_is_dropped_by_the_documented_statement():
    """The page of DROP SIGNATURE has FROM module_name; OBJECT:: is of ADD SIGNATURE alone."""
    text = rendered(SIGNING)["79_modules.signature.sql"]
    assert "DROP SIGNATURE FROM '" in text and "ADD SIGNATURE TO OBJECT::" in text
