"""``redial baseline --accept`` writes sql/accepted.toml; what an earlier version has accepted moves there."""

from __future__ import annotations

import pytest

from redial.cli.deploy import deploy, verify
from redial.cli.history import baseline
from redial.deploy.fingerprint import Difference, Thing
from redial.deploy.fingerprint.compare import CHANGED, EXCESS

from .accepted_file import GRANT, SERVER, written
from .conftest import logged_in_as, run, status_of

pytestmark = [pytest.mark.driver, pytest.mark.usefixtures("day")]
ERROR, CHANGES, BLOCKED = 1, 2, 3


def test_a_baseline_prints_the_entry_and_writes_it_with_a_reason(granted, project, capsys):
    run(granted.server, "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    run(granted.server, "DROP VIEW audit.vw_Errors;")
    path = project / "sql" / "accepted.toml"
    # 1. printed, what is missing not
    assert status_of(baseline, server=granted.server) == CHANGES
    said = capsys.readouterr().out
    assert f"not accepted: {GRANT}" in said and "vw_Errors" not in said
    assert (
        f'[[accepted]]\nfinding = "{GRANT}"\nconfig = "audit"\nserver = "{SERVER}"\ndatabase = "site"\n'
        'reason = ""\n'
    ) in said
    assert not path.exists()
    # 2. written: one of them, then all
    options = {
        "server": granted.server,
        "accept": True,
        "reason": 'it\'s "ours"\\',
        "until": "2027-01-31",
    }
    assert status_of(baseline, **options, finding=[GRANT]) == CHANGES
    said = capsys.readouterr().out
    assert f"accepted in sql/accepted.toml: {GRANT}" in said
    assert "not accepted: queue TargetQueue: activation is off" in said
    assert status_of(baseline, **options) == 0
    assert path.read_text().count("[[accepted]]") == 2
    capsys.readouterr()
    # 3. so the view is the only finding
    assert status_of(verify, server=granted.server) == 1
    said = capsys.readouterr().out
    assert "1 finding " in said and 'until 2027-01-31: it\'s "ours"\\' in said
    # 4. again there is nothing to write
    assert status_of(baseline, **options) == 0
    assert path.read_text().count("[[accepted]]") == 2


def test_who_may_only_look_can_write_the_entry(site, project, capsys):
    """The right to look is itself one that no file grants."""
    run(site.server, "CREATE LOGIN looker2 WITH PASSWORD = N'Long-enough-1';")
    run(
        site.server,
        "CREATE USER looker2 FOR LOGIN looker2; GRANT VIEW DEFINITION TO looker2; "
        "GRANT SELECT ON SCHEMA::audit TO looker2;",
    )
    looker = logged_in_as(site.server, "looker2", "Long-enough-1")
    finding = GRANT.replace("joe on OBJECT Landing", "looker2 on SCHEMA audit")
    options = {"accept": True, "reason": "looks each night", "finding": [f"{finding}. Next: ..."]}
    assert status_of(baseline, server=looker, **options) == 0
    # 0. what surrounds it is a matter for who may write
    assert status_of(verify, server=looker) == 1
    said = capsys.readouterr().out
    assert f"accepted: {finding}" in said and "VIEW DEFINITION to looker2" in said
    assert status_of(baseline, server=site.server) == 0
    assert status_of(verify, server=looker) == 0


def test_a_file_of_windows_is_read_and_added_to(granted, project):
    path = written(project)
    path.write_bytes("\ufeff# ours\r\n".encode())
    options = {"server": granted.server, "accept": True, "reason": "reports"}
    assert status_of(baseline, **options) == 0
    assert status_of(verify, server=granted.server) == 0
    assert path.read_bytes().startswith("\ufeff# ours\r\n\n[[accepted]]\n".encode())


def test_what_surrounds_an_installation_is_accepted_when_it_is_named(site, project, capsys):
    run(site.server, "ALTER DATABASE CURRENT SET TRUSTWORTHY ON;")
    finding = "database option trustworthy: value is on, and was off at the last deployment"
    options = {"server": site.server, "accept": True, "reason": "CLR until spring"}
    assert status_of(baseline, **options) == 0
    assert "nothing more to accept" in capsys.readouterr().out
    assert not (project / "sql" / "accepted.toml").exists()
    assert status_of(verify, server=site.server) == 1
    assert status_of(baseline, **options, finding=[finding]) == 0
    capsys.readouterr()
    assert status_of(verify, server=site.server) == 0
    assert f"accepted: {finding}. sql/accepted.toml:4" in capsys.readouterr().out


def test_options_of_a_baseline_that_do_not_fit_are_named(granted, project, capsys):
    bad = [
        ({"accept": True}, "--reason is missing"),
        ({"reason": "x"}, "goes with --accept only"),
        ({"finding": [GRANT]}, "goes with --accept only"),
        ({"accept": True, "reason": "x", "until": "soon"}, "until is 'soon', and no day"),
        ({"accept": True, "reason": "x", "finding": ["nothing"]}, "is no finding here"),
    ]
    for options, said in bad:
        assert status_of(baseline, server=granted.server, **options) == ERROR
        out = capsys.readouterr().err
        assert said in out and "Next: " in out, out
    assert not (project / "sql" / "accepted.toml").exists()


# --- what an earlier version has accepted in the database ------------------------------------------------


JOE = Difference(Thing("permission", "SELECT to joe", "OBJECT Landing"), EXCESS)
READERS = Difference(Thing("queue", "TargetQueue"), CHANGED, "activation", "on", "off")


def accepted_in_the_database(server: str, *differences: Difference) -> None:
    """As ``redial baseline --accept`` of an earlier version has written it."""
    keys = ", ".join(f'"{one.key(0)}"' for one in differences or [JOE])
    run(
        server,
        """UPDATE audit.DeploymentText SET Known = REPLACE(Known, N'"accepted": []', """
        f"""N'"accepted": [{keys}]');""",
    )


def test_what_an_earlier_version_has_accepted_stays_accepted_and_can_be_moved(
    granted, project, capsys
):
    accepted_in_the_database(granted.server)
    assert status_of(verify, server=granted.server) == 0
    said = capsys.readouterr().out
    assert (
        f"note: accepted: {GRANT}. An earlier version has written so into the database. Next: "
        in said
    )
    assert "redial baseline --accept --reason '...', which moves it into sql/accepted.toml" in said
    # 1. neither a deployment nor a baseline takes it away unasked
    run(granted.server, "DROP VIEW audit.vw_Errors;")
    assert status_of(deploy, server=granted.server) == 0
    assert status_of(baseline, server=granted.server) == CHANGES
    assert status_of(verify, server=granted.server) == 0
    # 2. moved
    options = {"server": granted.server, "accept": True, "reason": "reports"}
    capsys.readouterr()
    assert status_of(baseline, **options) == 0
    assert "taken out of the database" in capsys.readouterr().out
    assert status_of(verify, server=granted.server) == 0
    said = capsys.readouterr().out
    assert "sql/accepted.toml:4" in said and "database" not in said.partition("note: accepted")[2]
    # 3. so without the entry it is a finding
    (project / "sql" / "accepted.toml").unlink()
    assert status_of(verify, server=granted.server) == 1


def test_one_of_two_is_moved_and_the_other_stays_accepted(granted, project, capsys):
    run(granted.server, "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    accepted_in_the_database(granted.server, JOE, READERS)
    options = {"server": granted.server, "accept": True, "reason": "reports", "finding": [GRANT]}
    assert status_of(baseline, **options) == CHANGES
    capsys.readouterr()
    assert status_of(verify, server=granted.server) == 0
    said = capsys.readouterr().out
    assert f"accepted: {GRANT}. sql/accepted.toml:4" in said
    assert "queue TargetQueue: activation is off, not on. An earlier version has written so" in said


def test_what_the_database_accepts_and_is_gone_is_stale_until_a_baseline(granted, project, capsys):
    accepted_in_the_database(granted.server)
    run(granted.server, "REVOKE SELECT ON audit.Landing FROM joe;")
    assert status_of(verify, server=granted.server) == 0
    said = capsys.readouterr().out
    assert (
        "stale: an earlier version has written into the database that 1 difference more is" in said
    )
    assert status_of(baseline, server=granted.server) == 0
    capsys.readouterr()
    assert status_of(verify, server=granted.server) == 0
    assert "stale" not in capsys.readouterr().out


def test_a_day_that_is_past_is_refused_with_today(granted, project, capsys):
    options = {"server": granted.server, "accept": True, "reason": "reports"}
    assert status_of(baseline, **options, until="2026-11-27") == ERROR
    said = capsys.readouterr().err
    assert (
        "--until: until is 2026-11-27, and past: today is 2026-11-28" in said and "Next: " in said
    )
    assert not (project / "sql" / "accepted.toml").exists()
    # 0. today is the last day
    assert status_of(baseline, **options, until="2026-11-28") == 0
