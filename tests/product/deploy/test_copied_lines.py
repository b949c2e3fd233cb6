"""Whoever copies a line of verify takes nobody's rights away, and gets one line whatever a name holds."""

from __future__ import annotations

import tomllib

import pytest

from redial.cli.plan import shown
from redial.deploy.accepting import Accepted, Entry, accept
from redial.deploy.verify import findings, look
from redial.quoting import in_one_line, visible
from tests.product.sql.lab import Lab

from .by_hand import Site

READS = (
    "SELECT pr.name FROM sys.database_permissions AS dp INNER JOIN sys.database_principals AS pr "
    "ON pr.principal_id = dp.grantee_principal_id WHERE dp.major_id = OBJECT_ID(N'audit.Landing') "
    "AND pr.name = N'joe';"
)
OWNED = (
    "CREATE USER joe WITHOUT LOGIN; CREATE USER ann WITHOUT LOGIN; "
    "ALTER AUTHORIZATION ON audit.Landing TO ann; GRANT SELECT ON audit.Landing TO joe;"
)


@pytest.fixture
def here():
    lab = Lab()
    lab.instance.disconnect(lab.sa.session)
    return Site(lab)


def test_the_statement_for_an_owner_gives_the_rights_of_others_again(here):
    here.run(OWNED)
    [line] = [one for one in here.findings() if "table Landing: owner is ann" in one]
    sql = line.split(" It runs: ")[1]
    assert "GRANT SELECT ON OBJECT::[audit].[Landing] TO [joe];" in sql
    # 1. it is what a deployment runs
    assert f"runs: {sql}\n" in shown(here.survey().plan)
    # 2. whoever runs it takes nothing from joe
    here.run(sql)
    assert here.connect().cursor().execute(READS).fetchall() == [("joe",)]
    assert not any("owner is" in one for one in here.findings())


def test_the_statement_for_the_schemas_owner_does_too(here):
    here.run(
        "CREATE USER joe WITHOUT LOGIN; ALTER AUTHORIZATION ON SCHEMA::audit TO dbo; "
        "GRANT SELECT ON audit.Landing TO joe;"
    )
    [line] = [one for one in here.findings() if "schema audit: owner is dbo" in one]
    sql = line.split(" Next: ")[1]
    assert "GRANT SELECT ON OBJECT::[audit].[Landing] TO [joe];" in sql
    assert "this gives those of others again" in sql


ODD = "a\r\nin lab: all is well\tb\x1b\u2028c"
NAMES = f"""
CREATE USER [{ODD}] WITHOUT LOGIN;
GRANT SELECT ON audit.Landing TO [{ODD}];
CREATE INDEX [i{ODD}] ON audit.Landing (LandedUtc);
ALTER TABLE audit.ErrorLog ADD [c{ODD}] int NULL;
ALTER ROLE audit_sender ADD MEMBER [{ODD}];
"""


def test_a_name_with_a_line_break_leaves_a_finding_in_one_line_and_its_statement_mends(here):
    here.run(NAMES)
    found = here.findings()
    assert len(found) == 3
    for line in found:
        assert line == visible(line) and len(line.splitlines()) == 1
        assert "a<U+000D><U+000A>in lab: all is well<U+0009>b<U+001B><U+2028>c" in line
    looks = look(here.lab.config, here.connect, here.files)
    assert all(note == visible(note) for one in looks for note in one.notes())
    for line in found:
        here.run(line.split(" Next: ")[1])
    assert here.findings() == []


def test_such_a_line_can_be_copied_into_the_file_of_what_is_accepted(here):
    here.run(NAMES)
    looks = look(here.lab.config, here.connect, here.files)
    entries = []
    for number, line in enumerate(findings(looks)):
        said = line.split(". Who may: ")[0]
        copied = tomllib.loads(f'finding = "{said}"')["finding"]
        entries.append(Entry(f"file:{number}", copied, "*", "reports", None))
    assert findings(accept(looks, here.lab.config.name, Accepted(tuple(entries)))) == []


@pytest.mark.parametrize("sql", ["SELECT 1;", "SELECT N'it''s', [a]]b];"])
def test_a_statement_in_one_line_is_left_as_it_is(sql):
    assert in_one_line(sql) == sql


def test_a_statement_with_a_line_break_runs_as_it_was(here):
    odd = "it''s" + ODD
    sql = in_one_line(f"SELECT N'{odd}' AS a;")
    assert len(sql.splitlines()) == 1
    assert here.connect().cursor().execute(sql).fetchall() == [("it's" + ODD,)]
