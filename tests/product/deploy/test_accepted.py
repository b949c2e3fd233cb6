"""What somebody has accepted lies in sql/accepted.toml with the reason: it is said each time, it is no
finding and nothing a deployment does; an entry that is no longer true is said too."""

from __future__ import annotations

import re
from datetime import date

import pytest

from redial.cli.deploy import deploy, drift, plan, verify
from redial.cli.history import baseline, repair, rollback

from .accepted_file import ENTRY, GRANT, SERVER, written
from .conftest import another_revision, run, status_of

pytestmark = [pytest.mark.driver, pytest.mark.usefixtures("day")]
ERROR, CHANGES, BLOCKED = 1, 2, 3


# --- accepted --------------------------------------------------------------------------------------------


def test_a_grant_that_is_accepted_is_said_with_its_reason_and_does_not_keep_ci_red(
    granted, project, capsys
):
    assert status_of(verify, server=granted.server) == 1
    assert GRANT in capsys.readouterr().out
    written(project, ENTRY | {"until": "2026-11-28"})
    for looks in (verify, drift):
        assert status_of(looks, server=granted.server) == 0
        said = capsys.readouterr().out
        assert (
            f"note: accepted: {GRANT}. sql/accepted.toml:3, until 2026-11-28: reports until the "
            "warehouse is there\n"
        ) in said
        assert "0 findings" in said


def test_the_line_of_verify_can_be_copied_whole(granted, project, capsys):
    assert status_of(verify, server=granted.server) == 1
    [line] = [one for one in capsys.readouterr().out.splitlines() if f": {GRANT}" in one]
    written(project, ENTRY | {"finding": line})
    assert status_of(verify, server=granted.server) == 0
    assert "sql/accepted.toml:3, without an end: reports" in capsys.readouterr().out


ODD = [
    "a. Who may: db_owner. Next: nothing",
    "a. Who may: db_owner. Next: x",
    "a. Next: 1",
    "in b: c",
    "d (deny)",
    "it's (text 000000000000)",
]
"""Names that look like what stands around a finding."""


def test_names_that_look_like_what_stands_around_a_finding_are_told_apart(site, project, capsys):
    """1 Each line that verify prints is accepted, and no other. 2 The same with what baseline writes."""
    for name in ODD:
        quoted = f"[{name}]"
        run(
            site.server,
            f"CREATE USER {quoted} WITHOUT LOGIN; GRANT SELECT ON audit.Landing TO {quoted};",
        )
    assert status_of(verify, server=site.server) == 1
    lines = [one for one in capsys.readouterr().out.splitlines() if one.startswith("in site: ")]
    assert len(lines) == len(ODD)
    for line in lines:
        written(project, ENTRY | {"finding": line})
        assert status_of(verify, server=site.server) == 1
        said = capsys.readouterr().out.splitlines()
        assert [one for one in lines if one not in said] == [line]
    (project / "sql" / "accepted.toml").unlink()
    for line in lines:
        options = {"accept": True, "reason": "x", "finding": [line]}
        status_of(baseline, server=site.server, **options)
    assert (project / "sql" / "accepted.toml").read_text().count("[[accepted]]") == len(ODD)
    assert status_of(verify, server=site.server) == 0


def test_one_right_more_is_no_right_that_was_accepted(granted, project, capsys):
    written(project, ENTRY)
    run(granted.server, "GRANT SELECT ON audit.Landing TO joe WITH GRANT OPTION;")
    assert status_of(verify, server=granted.server) == 1
    said = capsys.readouterr().out
    assert f"sql/accepted.toml:3: was written for another state of it: {GRANT}" in said
    assert "look at what it is now; then copy the line that redial verify prints" in said
    # 1. the state is part of the finding, or, of an older entry, its text
    passed_on = {"finding": f"{GRANT} (grant with option)"}
    for state in (passed_on, {"text": "grant with option"}):
        written(project, ENTRY | state)
        assert status_of(verify, server=granted.server) == 0
    for other in ({"finding": f"{GRANT} (deny)"}, {"text": "deny"}, passed_on | {"text": "deny"}):
        written(project, ENTRY | other)
        assert status_of(verify, server=granted.server) == 1
    # 2. one right less is another one, too
    run(granted.server, "REVOKE GRANT OPTION FOR SELECT ON audit.Landing FROM joe CASCADE;")
    for state in (passed_on, {"text": "grant with option"}):
        written(project, ENTRY | state)
        capsys.readouterr()
        assert status_of(verify, server=granted.server) == 1
        assert "and take text out where there is one" in capsys.readouterr().out


def test_a_view_of_somebodys_is_accepted_with_its_text_and_no_other(granted, project, capsys):
    run(granted.server, "EXECUTE (N'CREATE VIEW audit.report AS SELECT 1 AS A;');")
    options = {"server": granted.server, "accept": True, "reason": "reports"}
    assert status_of(baseline, **options) == 0
    assert re.search(
        r"makes it \(text [0-9a-f]{12}\)", (project / "sql" / "accepted.toml").read_text()
    )
    assert status_of(verify, server=granted.server) == 0
    run(granted.server, "EXECUTE (N'ALTER VIEW audit.report AS SELECT 2 AS A;');")
    capsys.readouterr()
    assert status_of(verify, server=granted.server) == 1
    said = capsys.readouterr().out
    assert (
        "was written for another state of it: module report is there" in said
        and "copy the line" in said
    )
    # 0. an entry of before has the digest as its text
    [text] = re.findall(r"makes it \(text (\w+)\)\. Who may", said)
    view = "module report is there, and no file of this configuration makes it"
    written(project, ENTRY, ENTRY | {"finding": view, "text": text})
    assert status_of(verify, server=granted.server) == 0


def test_a_deployment_leaves_what_is_accepted_and_plan_says_so(granted, project, tmp_path, capsys):
    """1 A grant, a reader switched off, a right denied. 2 A later revision is planned and sent."""
    run(granted.server, "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    run(granted.server, "DENY EXECUTE ON audit.usp_Send TO audit_sender;")
    options = {"server": granted.server, "accept": True, "reason": "ticket 12"}
    assert status_of(baseline, **options) == 0
    later = another_revision(project / "sql" / "generated" / "audit", "usp_LogError")
    said = {"server": granted.server, "from_folder": str(later)}
    capsys.readouterr()
    assert status_of(plan, **said) == CHANGES
    out = capsys.readouterr().out
    assert f"note     accepted: {GRANT}. sql/accepted.toml:" in out and ": ticket 12" in out
    assert "left as it is" not in out and "grant    " not in out and "by hand" not in out
    assert status_of(deploy, **said) == 0
    out = capsys.readouterr().out
    assert out.count("note: accepted: ") == 3 and "verified: everything is there" not in out
    assert out.endswith("verified, but for 3 accepted differences (above)\n")
    # 0. the way back leaves it too
    assert status_of(rollback, server=granted.server, yes=True) == 0
    assert capsys.readouterr().out.count("note: accepted: ") == 3
    assert run(
        granted.server,
        "SELECT p.state_desc FROM sys.database_permissions AS p WHERE p.major_id IN "
        "(OBJECT_ID(N'audit.Landing'), OBJECT_ID(N'audit.usp_Send')) AND (USER_NAME(p.grantee_principal_id) "
        "= N'joe' OR p.state = 'D') ORDER BY p.state_desc;",
    ) == [("DENY",), ("GRANT",)]
    assert run(
        granted.server,
        "SELECT is_activation_enabled FROM sys.service_queues WHERE name = N'TargetQueue';",
    ) == [(False,)]


def test_a_deployment_that_takes_back_what_somebody_has_added_leaves_what_is_accepted(
    granted, project, capsys
):
    """--undo is for what nobody has given a reason for."""
    run(granted.server, "ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    options = {"server": granted.server, "accept": True, "reason": "ticket 12"}
    assert status_of(baseline, **options) == 0
    run(granted.server, "GRANT SELECT ON audit.Landing TO public;")
    said = {"server": granted.server, "undo": True}
    capsys.readouterr()
    assert status_of(plan, **said) == CHANGES
    out = capsys.readouterr().out
    assert (
        "REVOKE SELECT ON OBJECT::[audit].[Landing] FROM [public]" in out
        and "FROM [joe]" not in out
    )
    assert status_of(deploy, **said) == 0
    assert run(
        granted.server,
        "SELECT USER_NAME(p.grantee_principal_id) FROM sys.database_permissions AS p "
        "WHERE p.major_id = OBJECT_ID(N'audit.Landing') AND USER_NAME(p.grantee_principal_id) "
        "IN (N'joe', N'public');",
    ) == [("joe",)]
    assert run(
        granted.server,
        "SELECT is_activation_enabled FROM sys.service_queues WHERE name = N'TargetQueue';",
    ) == [(False,)]


def test_a_row_of_history_is_repaired_though_something_is_accepted(granted, project, capsys):
    written(project, ENTRY)
    run(granted.server, "DELETE FROM audit.DeploymentHistory;")
    assert status_of(repair, server=granted.server) == 0
    assert "written anew" in capsys.readouterr().out


# --- stale -----------------------------------------------------------------------------------------------


def test_a_grant_that_is_gone_leaves_a_stale_entry(granted, project, capsys):
    written(project, ENTRY)
    run(granted.server, "REVOKE SELECT ON audit.Landing FROM joe;")
    for looks in (verify, plan):
        assert status_of(looks, server=granted.server) == 0
        said = capsys.readouterr().out
        assert (
            f"sql/accepted.toml:3: stale: nothing of configuration audit on {SERVER!r} is so"
            in said
        )
        assert "Next: take the entry out" in said


def test_a_day_that_is_past_makes_it_a_finding_again(granted, project, day, capsys):
    written(project, ENTRY | {"until": "2026-11-28"})
    assert status_of(verify, server=granted.server) == 0
    day["today"] = date(2026, 11, 29)
    capsys.readouterr()
    assert status_of(verify, server=granted.server) == 1
    said = capsys.readouterr().out
    assert f"{GRANT}. Who may: db_owner. Next: REVOKE SELECT" in said
    assert (
        f"sql/accepted.toml:3: stale: it was accepted until 2026-11-28, and today is 2026-11-29: {GRANT}"
        in said
    )


# --- whose -----------------------------------------------------------------------------------------------


def test_an_entry_of_another_server_accepts_nothing_here_and_is_named(granted, project, capsys):
    written(project, ENTRY | {"server": "PROD1"})
    assert status_of(verify, server=granted.server) == 1
    said = capsys.readouterr().out
    assert (
        f"sql/accepted.toml:3: accepts it on server 'PROD1', and this is {SERVER!r}: {GRANT}"
        in said
    )
    assert "Next: an entry for this server, or undo it here" in said


def test_a_file_of_another_server_is_named(site, project, capsys):
    written(project, ENTRY | {"server": "PROD1"}, ENTRY | {"server": "PROD2"})
    assert status_of(verify, server=site.server) == 0
    said = capsys.readouterr().out
    assert (
        f"sql/accepted.toml accepts nothing on this server, {SERVER!r}: its entries are for PROD1, PROD2"
        in said
    )
    # 0. beside one for this server they are nothing to speak of
    run(site.server, "CREATE USER joe WITHOUT LOGIN; GRANT SELECT ON audit.Landing TO joe;")
    others = ENTRY | {"finding": "module x is there", "server": "PROD1"}
    written(project, ENTRY | {"server": "redial-*"}, others)
    assert status_of(verify, server=site.server) == 0
    assert "PROD" not in capsys.readouterr().out


def test_an_entry_of_another_configuration_or_database_accepts_nothing(granted, project, capsys):
    for other in ({"config": "etl"}, {"database": "warehouse"}):
        written(project, ENTRY | other)
        assert status_of(verify, server=granted.server) == 1
        assert "sql/accepted.toml:" not in capsys.readouterr().out
    written(project, ENTRY | {"config": "audit", "database": "SITE"})
    assert status_of(verify, server=granted.server) == 0


def test_what_is_missing_or_of_ours_cannot_be_accepted(granted, project, capsys):
    run(granted.server, "DROP VIEW audit.vw_Errors; REVOKE SELECT ON audit.Landing FROM joe;")
    written(project, ENTRY | {"finding": "module vw_Errors is missing"})
    assert status_of(verify, server=granted.server) == 1
    said = capsys.readouterr().out
    assert "module vw_Errors is missing. Who may: db_owner. Next: redial deploy" in said
    assert "sql/accepted.toml:3: this cannot be accepted" in said
    assert status_of(plan, server=granted.server) == CHANGES


def test_what_the_next_deployment_drops_all_the_same_cannot_be_accepted(site, project, capsys):
    run(
        site.server,
        "CREATE INDEX IX_Landing_Conversation ON audit.Landing (ConversationId, MessageSequence);",
    )
    said = "index IX_Landing_Conversation of Landing is there, and no file of this configuration makes it"
    written(project, ENTRY | {"finding": said})
    assert status_of(verify, server=site.server) == 1
    assert "sql/accepted.toml:3: this cannot be accepted" in capsys.readouterr().out
    assert status_of(baseline, server=site.server) == 0
    assert "not accepted" not in capsys.readouterr().out


# --- bad input -------------------------------------------------------------------------------------------

BAD = {
    # what the file has, what is said
    "a key that is none": (
        ENTRY | {"untill": "2027-01-31"},
        "sql/accepted.toml:3: has no key untill; it may have finding, server, reason, until",
    ),
    "no reason": (
        {key: ENTRY[key] for key in ("finding", "server")},
        "sql/accepted.toml:3: reason is missing\n  Next: say why it stays",
    ),
    "an empty reason": (ENTRY | {"reason": " "}, "sql/accepted.toml:3: reason is missing"),
    "no finding": (
        {key: ENTRY[key] for key in ("server", "reason")},
        "sql/accepted.toml:3: finding is missing\n  Next: copy the line that redial verify prints",
    ),
    "no server": (
        {key: ENTRY[key] for key in ("finding", "reason")},
        "sql/accepted.toml:3: server is missing\n  Next: say its name",
    ),
    "a day that is none": (
        ENTRY | {"until": "2027-02-30"},
        "sql/accepted.toml: is not TOML: Invalid date or datetime (at line 7, column 9)",
    ),
    "a day as text that is none": (
        ENTRY | {"until": "'next year'"},
        "sql/accepted.toml:3: until is 'next year', and no day\n  Next: write it as 2027-01-31",
    ),
    "a time": (
        ENTRY | {"until": "2027-01-31T00:00:00"},
        "sql/accepted.toml:3: until is '2027-01-31 00:00:00', and no day",
    ),
    "a configuration that is none": (
        ENTRY | {"config": "audti"},
        "sql/accepted.toml:3: config 'audti' has no file in sql/configs\n  Next: use one of: audit",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_is_wrong_is_named_with_line_and_cause(site, project, what, capsys):
    entry, said = BAD[what]
    written(project, entry)
    for command in (verify, plan, deploy, drift, baseline, repair, rollback):
        assert status_of(command, server=site.server) == ERROR
        out = capsys.readouterr().err
        assert said in out and "Next: " in out, out


TEXTS = {
    "no TOML": ("[[accepted]\n", "is not TOML: "),
    "another table": ("[known]\na = 1\n", "has 'known', and holds nothing but [[accepted]]"),
    "one table for all": ("[accepted]\nfinding = 'x'\n", "holds nothing but [[accepted]]"),
    "a list of texts": (
        "accepted = ['x']\n",
        "sql/accepted.toml, entry 1: is 'x', no [[accepted]]",
    ),
    "a number": (
        "[[accepted]]\nreason = 7\n",
        "sql/accepted.toml:2: reason is 7, and must be a text",
    ),
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_text_that_is_no_such_file_is_named(site, project, what, capsys):
    text, said = TEXTS[what]
    written(project, text=text)
    assert status_of(verify, server=site.server) == ERROR
    out = capsys.readouterr().err
    assert out.startswith("sql/accepted.toml") and said in out and "Next: " in out, out


def test_an_entry_that_stands_twice_is_named(site, project, capsys):
    written(project, ENTRY, ENTRY | {"finding": f"{GRANT}. Next: REVOKE"})
    assert status_of(verify, server=site.server) == ERROR
    assert "sql/accepted.toml:8: says the same as sql/accepted.toml:3" in capsys.readouterr().err
