"""Style by sqlfluff with our plugin: it knows Service Broker, our templates, and never changes
what a file means."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlfluff", reason="sqlfluff is not installed: pip install '.[lint]'")

from redial.cli.configs import load_named
from redial.lint import plugin
from redial.lint.plugin import grammar
from redial.lint.rules import RULES
from redial.lint.style import FIXABLE, FixRefused, lint_templates, linter, mended, templates
from redial.render.renderer import template_files
from redial.tsql import parse_script
from redial.tsql.ast import structure

STATEMENTS = [
    "BEGIN DIALOG CONVERSATION @h FROM SERVICE [//a/b] TO SERVICE N'c', N'CURRENT DATABASE' "
    "ON CONTRACT [d] WITH RELATED_CONVERSATION = @g, LIFETIME = 60, ENCRYPTION = OFF;",
    "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 60;",
    "SEND ON CONVERSATION (@a, @b) MESSAGE TYPE [m] (@body);",
    "WAITFOR (RECEIVE TOP (10) message_body FROM dbo.q INTO @t WHERE conversation_handle = @h), "
    "TIMEOUT 1000;",
    "WAITFOR (GET CONVERSATION GROUP @g FROM dbo.q), TIMEOUT @ms;",
    "MOVE CONVERSATION @h TO @g;",
    "END CONVERSATION @h WITH ERROR = 1 DESCRIPTION = N'x';",
    "CREATE MESSAGE TYPE [m] VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.s;",
    "CREATE CONTRACT [c] ([m] SENT BY INITIATOR, [n] SENT BY ANY);",
    "ALTER QUEUE dbo.q WITH STATUS = ON, ACTIVATION (PROCEDURE_NAME = dbo.p, "
    "MAX_QUEUE_READERS = 2, EXECUTE AS OWNER), POISON_MESSAGE_HANDLING (STATUS = OFF);",
    "CREATE SERVICE [s] AUTHORIZATION dbo ON QUEUE dbo.q ([c]);",
    "CREATE ROUTE r WITH SERVICE_NAME = N's', ADDRESS = N'LOCAL';",
    "CREATE REMOTE SERVICE BINDING b TO SERVICE N's' WITH USER = u, ANONYMOUS = ON;",
    "CREATE BROKER PRIORITY p FOR CONVERSATION SET (PRIORITY_LEVEL = 3);",
    "CREATE EVENT NOTIFICATION n ON QUEUE dbo.q FOR QUEUE_ACTIVATION TO SERVICE N's', N'g';",
    "CREATE ENDPOINT e STATE = STARTED AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER "
    "(AUTHENTICATION = WINDOWS);",
    "GRANT SEND ON SERVICE::[s] TO u;",
    "EXECUTE AS USER = N'u' WITH NO REVERT;",
    "SET @x.modify(N'delete /a');",
    "ALTER TABLE dbo.t SET (LOCK_ESCALATION = DISABLE);",
]


@pytest.fixture(scope="module")
def raw():
    """sqlfluff with the plugin, for plain text."""
    from sqlfluff.core import FluffConfig, Linter

    plugin.register()
    return Linter(config=FluffConfig(overrides={"dialect": "tsql", "templater": "raw"}))


def codes(using, sql: str) -> list[str]:
    return [one.rule_code() for one in using.lint_string(sql).get_violations()]


def test_the_plugin_is_in_place():
    """Canary: a plugin that fails to load is only logged by sqlfluff. When this fails after an
    upgrade, compare the classes that harness/redial/lint/plugin/grammar.py changes with sqlfluff's."""
    plugin.register()
    assert grammar.installed()


@pytest.mark.parametrize("sql", STATEMENTS, ids=lambda sql: " ".join(sql.split()[:3]))
def test_it_parses_service_broker(raw, sql):
    assert "PRS" not in codes(raw, f"{sql}\n")
    assert parse_script(sql), "and so does our own parser"


@pytest.mark.parametrize("sql", ["FOO (1) BAR = 3;\nSELECT 1;\nSETT @a = 1;", "SELECT 1;\nfoo 2;"])
def test_a_typing_mistake_is_no_call(raw, sql):
    assert "PRS" in codes(raw, f"{sql}\n")


def test_our_rules_are_sqlfluffs_too(raw):
    assert {rule.code for rule in raw.rule_tuples()} >= RULES.keys()
    found = raw.lint_string("DECLARE @a INT;\nEND CONVERSATION @h WITH CLEANUP;\n")
    assert (2, 1, "SB07") in [
        (one.line_no, one.line_pos, one.rule_code()) for one in found.get_violations()
    ]


INSTALLED = set(template_files(load_named("audit")))
BY_SIZE = sorted(templates(), key=lambda path: (path.stat().st_size, path))
"""The shortest first: sqlfluff takes ten seconds over the longest, which --full looks at."""


@pytest.mark.sampled(every=40, last=False)
@pytest.mark.parametrize(
    "path", [path for path in BY_SIZE if path in INSTALLED], ids=lambda path: path.name
)
def test_our_templates_are_clean(path):
    """`invoke lint` looks at all of them, those of other configurations too."""
    assert lint_templates("audit", [path]) == []


def test_fix_leaves_clean_templates_alone():
    using = linter("audit", FIXABLE)
    path = BY_SIZE[len(BY_SIZE) // 2]
    text = path.read_text(encoding="utf-8")
    assert mended(text, str(path), using) == text


def test_fix_mends_layout_and_keeps_the_meaning():
    using = linter("audit", FIXABLE)
    text = "select  {{ c.services.initiator | literal }} as [A] ,1 as [B];\n"
    better = mended(text, "x.sql.j2", using)
    assert better == "SELECT {{ c.services.initiator | literal }} AS [A], 1 AS [B];\n"


def test_fix_leaves_the_case_of_types_alone():
    """A type may be somebody's own, and a database may tell its capitals apart."""
    text = "declare @a [dbo].[MyType], @b INT;\n"
    better = mended(text, "x.sql.j2", linter("audit", FIXABLE))
    assert better == "DECLARE @a [dbo].[MyType], @b INT;\n"


def test_fix_refuses_a_template_that_cannot_be_rendered():
    with pytest.raises(FixRefused, match=r"x\.sql\.j2: it cannot be rendered"):
        mended("SELECT {{ c.name ;", "x.sql.j2", linter("audit", FIXABLE))


def test_fix_refuses_what_would_change_the_meaning(monkeypatch):
    using = linter("audit", FIXABLE)
    monkeypatch.setattr("redial.lint.style._trees", lambda sql: sql)  # the text itself differs
    with pytest.raises(FixRefused, match=r"x\.sql"):
        mended("select  1 as [A];\n", "x.sql.j2", using)


def test_trees_tell_meaning_from_layout():
    one, two, three = (
        [structure(batch) for batch in parse_script(sql)]
        for sql in ("SELECT a FROM t;", "select a\nfrom t", "SELECT b FROM t;")
    )
    assert one == two != three
