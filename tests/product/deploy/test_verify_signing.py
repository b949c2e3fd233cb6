"""Where procedures are signed, verification names each thing that takes their rights away, or gives more."""

from __future__ import annotations

import pytest

from redial.render import signed_modules
from tests.installed import rendered
from tests.product.sql.lab import Lab, configured

from .by_hand import Change, Site, changed

DEPLOY = "redial deploy makes it so again."
OTHERS = "redial deploy --undo runs this"

SIGNED = configured(security={"signing": "certificate"})
THEIRS = (
    "CREATE CERTIFICATE theirs ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x'; "
    "ADD {kind} TO audit.{signed} BY CERTIFICATE theirs WITH PASSWORD = N'Pa55word!';"
)

CHANGES = {
    # what somebody does by hand ({} is the certificate, {signed} a procedure), the finding, what mends it
    "a signature is dropped": (
        "DROP SIGNATURE FROM audit.{signed} BY CERTIFICATE [{}];",
        "signature by the signing certificate of {signed} is missing",
        "redial deploy signs {signed} again; until then it lacks the rights of db_owner.",
    ),
    "the certificate's user has no rights": (
        "ALTER ROLE db_owner DROP MEMBER [{}];",
        "role membership db_owner of signing certificate is missing",
        DEPLOY,
    ),
    "the certificate's user has other rights": (
        "ALTER ROLE db_securityadmin ADD MEMBER [{}];",
        "role membership db_securityadmin of signing certificate is there, and no file",
        DEPLOY,
    ),
    "the certificate is somebody's": (
        "ALTER AUTHORIZATION ON CERTIFICATE::[{}] TO audit_module;",
        "certificate signing certificate: owner is audit_module, not dbo",
        DEPLOY,
    ),
    "the certificate begins dialogs": (
        "ALTER CERTIFICATE [{}] WITH ACTIVE FOR BEGIN_DIALOG = ON;",
        "certificate signing certificate: for dialogs is on, not off",
        DEPLOY,
    ),
    "another certificate signs too": (
        THEIRS.replace("{kind}", "SIGNATURE"),
        "signature by theirs of {signed} is there, and no file",
        OTHERS,
    ),
    "another certificate signs what signed modules call": (
        THEIRS.replace("{kind}", "COUNTER SIGNATURE"),
        "signature by theirs of {signed} is there, and no file",
        OTHERS,
    ),
    "the module user is in db_owner as well": (
        "ALTER ROLE db_owner ADD MEMBER audit_module;",
        "'audit_module' is a member of db_owner; a deployment stopped before it had signed",
        "redial deploy.",
    ),
}


def test_as_deployed_there_is_nothing_to_say():
    assert Site(Lab(SIGNED)).findings() == []


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_by_hand_is_named_and_what_verify_says_mends_it(what):
    lab = Lab(SIGNED)
    [(name,)] = lab.sa.execute("SELECT ct.name FROM sys.certificates AS ct;")
    # 1. somebody changes something
    signed = signed_modules(rendered(SIGNED))[0]
    sql, finding, mended_by = (
        text.replace("{}", name).replace("{signed}", signed) for text in CHANGES[what]
    )
    site, line = changed(lab, Change("", sql, finding))
    assert mended_by in line
    # 2. a deployment does what verify says; others' things are theirs unless somebody says otherwise
    assert site.deploy(undo=mended_by == OTHERS)
    assert site.findings() == []


def test_a_signing_certificate_that_was_left_over_is_dropped_by_a_deployment():
    lab = Lab(SIGNED)
    [(name,)] = lab.sa.execute("SELECT ct.name FROM sys.certificates AS ct;")
    old = name[:-1] + ("0" if name[-1] != "0" else "1")
    lab.sa.execute(
        f"CREATE CERTIFICATE [{old}] ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x'; "
        f"CREATE USER [{old}] FROM CERTIFICATE [{old}]; ALTER ROLE db_owner ADD MEMBER [{old}];"
    )
    lines = Site(lab).findings()
    assert [line.split(" is ")[0] for line in lines] == [
        f"in lab: certificate older signing certificate {old}",
        f"in lab: user older signing certificate {old}",
    ]
    assert all(line.endswith(DEPLOY) for line in lines)
    lab.instance.disconnect(lab.sa.session)
    assert Site(lab).deploy()
    assert Site(lab).findings() == []


def test_without_signing_one_that_was_left_over_is_named():
    lab = Lab()
    lab.sa.execute(
        "CREATE CERTIFICATE [redial_audit_signing_00000000-0000-0000-0000-000000000000] "
        "ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x';"
    )
    (line,) = Site(lab).findings()
    assert line.startswith("in lab: certificate signing certificate is there, and no file")
    assert line.endswith(DEPLOY)
    lab.instance.disconnect(lab.sa.session)
    assert Site(lab).deploy()
    assert Site(lab).findings() == []
