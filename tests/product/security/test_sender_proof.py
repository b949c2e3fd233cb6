"""For every configuration: the sender role may send, in the three ways there are, and nothing else.

Objects, verbs and views are not listed here but asked from the catalog, so that a new object or
view is part of the proof the day it appears.
"""

import pytest

from redial.config import Config, load
from redial.paths import ROOT
from redial_broker.catalog.views import DECLARED
from redial_lab.proof.audit_setups import small_config
from tests.choices import KEYS, TRAITS, usual_recycle
from tests.product.seeds.lab import Lab

CONFIGS = sorted((ROOT / "sql" / "configs").glob("*.toml"))
DENIED = frozenset(
    {
        229,
        230,
        262,
        300,
        15151,
        15247,
        1088,
        4902,
        3701,
        3704,
        4606,
        4613,
        2760,
        15517,
        15406,
        916,
        10054,
        5011,
        15003,
        15581,
        2571,
        208,
        15165,
        8197,
    }
)
"""Numbers that say no; 208 where even the name is hidden."""

WAYS_TO_SEND = {
    "usp_Send": ("EXECUTE {0}",),
    "usp_SendBatch": ("EXECUTE {0}",),
    "usp_BeginPartition": ("EXECUTE {0}",),
    "usp_EndPartition": ("EXECUTE {0}",),
    "Outbox": ("SELECT * FROM {0}", "INSERT {0} DEFAULT VALUES"),
}
"""What the role is granted, and the verbs on it that are not refused."""
PARAMETERS = 7 + 5 + 4 + 6
"""Of its four procedures: the most rows a catalog view shows to it and not to everybody."""

TYPE_VERBS = {
    "U ": (
        "SELECT * FROM {0}",
        "INSERT {0} DEFAULT VALUES",
        "UPDATE {0} SET {1} = {1}",
        "DELETE FROM {0}",
        "TRUNCATE TABLE {0}",
        "DROP TABLE {0}",
        "ALTER TABLE {0} ADD zz int",
        "CREATE TRIGGER {2}.zz ON {0} AFTER INSERT AS RETURN",
        "GRANT SELECT ON {0} TO public",
        "ALTER AUTHORIZATION ON {0} TO application",
    ),
    "P ": (
        "EXECUTE {0}",
        "DROP PROCEDURE {0}",
        "ALTER PROCEDURE {0} AS RETURN 0",
        "GRANT EXECUTE ON {0} TO public",
        "ALTER AUTHORIZATION ON {0} TO application",
    ),
    "SQ": (
        "SELECT * FROM {0}",
        "RECEIVE * FROM {0}",
        "ALTER QUEUE {0} WITH STATUS = OFF",
        "DROP QUEUE {0}",
        "DECLARE @g uniqueidentifier; GET CONVERSATION GROUP @g FROM {0}",
        "GRANT RECEIVE ON {0} TO public",
        "CREATE SERVICE [//zz] ON QUEUE {0}",
    ),
    "V ": (
        "SELECT * FROM {0}",
        "DROP VIEW {0}",
        "INSERT {0} DEFAULT VALUES",
        "DISABLE TRIGGER ALL ON {0}",
        "GRANT SELECT ON {0} TO public",
    ),
}
BROKER = {
    "sys.services": (
        "DROP SERVICE [{0}]",
        "ALTER SERVICE [{0}] (ADD CONTRACT [DEFAULT])",
        "GRANT SEND ON SERVICE::[{0}] TO public",
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [{0}] TO SERVICE "
        "N'{0}' WITH ENCRYPTION = OFF",
    ),
    "sys.service_contracts": (
        "DROP CONTRACT [{0}]",
        "GRANT REFERENCES ON CONTRACT::[{0}] TO public",
    ),
    "sys.service_message_types": (
        "DROP MESSAGE TYPE [{0}]",
        "ALTER MESSAGE TYPE [{0}] VALIDATION = NONE",
    ),
    "sys.database_principals": (
        "EXECUTE AS USER = N'{0}'",
        "DROP USER [{0}]",
        "DROP ROLE [{0}]",
        "ALTER ROLE [{0}] ADD MEMBER application",
        "GRANT IMPERSONATE ON USER::[{0}] TO application",
    ),
}
ANYWHERE = (
    "CREATE TABLE dbo.zz (a int)",
    "CREATE PROCEDURE dbo.zz AS RETURN 0",
    "CREATE SCHEMA zz",
    "CREATE VIEW dbo.zz AS SELECT 1 AS a",
    "CREATE QUEUE dbo.zz",
    "CREATE MESSAGE TYPE zz",
    "CREATE CONTRACT zz ([DEFAULT] SENT BY ANY)",
    "CREATE USER zz WITHOUT LOGIN",
    "CREATE ROLE zz",
    "CREATE ROUTE zz WITH ADDRESS = 'LOCAL'",
    "CREATE LOGIN zz WITH PASSWORD = 'Strong-Word-1'",
    "CREATE CERTIFICATE zz ENCRYPTION BY PASSWORD = 'Strong-Word-1' WITH SUBJECT = 'x'",
    "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Strong-Word-1'",
    "CREATE DATABASE zz",
    "ALTER DATABASE CURRENT SET TRUSTWORTHY ON",
    "ALTER DATABASE CURRENT SET NEW_BROKER",
    "EXECUTE AS LOGIN = 'sa'",
    "GRANT CONTROL TO public",
    "EXEC sp_readerrorlog",
    "EXEC sp_addmessage 50001, 16, 'x'",
    "DBCC OPENTRAN",
    "EXEC sp_addrolemember 'db_owner', 'application'",
)


OTHERS = {
    key: "aged_out" if TRAITS[key].slots else usual_recycle(key)
    for key in KEYS
    if key != load(ROOT / "sql" / "configs" / "audit.toml").conversation.key
}
"""The other ways to share a dialog, each with a way to recycle it; with signed procedures."""


def variants():
    """The files of sql/configs with every module, then one configuration for each key they do not show."""
    for path in CONFIGS:
        data = load(path).model_dump(by_alias=True, mode="json")
        data["modules"]["pieces"] = True
        yield pytest.param(Config.model_validate(data), id=path.stem)
    for key, recycle in OTHERS.items():
        data = small_config().model_dump(by_alias=True, mode="json")
        data["conversation"] |= {"key": key, "recycle": recycle}
        data["security"]["signing"] = "certificate"
        yield pytest.param(Config.model_validate(data), id=f"{key}-{recycle}")


@pytest.fixture(scope="module", params=list(variants()))
def lab(request):
    """One deployment of a configuration, with a message on its way."""
    made = Lab(request.param)
    send(made, b"before")
    return made


def send(lab, body, session=None):
    """As an application does: with a key where the configuration wants one."""
    key = {"key": "k"} if lab.config.traits.named else {}
    lab.call_send(body, session, **key).ok()


@pytest.fixture(scope="module")
def sender(lab):
    """A session of a login whose only right is the sender role."""
    return lab.login("application", lab.config.roles.sender)


def refused(session, text):
    """Asserts that a batch ends with a refusal and nothing else."""
    errors = session.execute(text).errors
    assert errors, f"allowed: {text}"
    # A view nobody can write to: that is said before anybody asks for rights (4405, 4406; through a
    # function the embedded broker's own refusal).
    assert all(
        e.number in {*DENIED, 4405, 4406, 4426} or (e.number == 60001 and "as a target" in e.text)
        for e in errors
        if e.number != 5069  # the second message of every refused ALTER DATABASE
    ), (text, errors)
    assert errors[0].number != 5069


def test_there_is_a_configuration():
    assert CONFIGS


@pytest.mark.sampled(every=3)
def test_every_verb_on_every_object_is_refused_but_one(lab, sender):
    before, tried = lab.catalog(), 0
    columns = dict(
        lab.rows(
            "SELECT object_id, MIN(name) FROM sys.columns WHERE is_identity = 0 GROUP BY object_id"
        )
    )
    for number, schema, name, type_ in lab.rows(
        "SELECT object_id, SCHEMA_NAME(schema_id), name, type FROM sys.objects WHERE "
        "is_ms_shipped = 0"
    ):
        for verb in TYPE_VERBS.get(type_, ()):
            if verb in WAYS_TO_SEND.get(name, ()):
                continue
            refused(
                sender,
                verb.format(f"[{schema}].[{name}]", f"[{columns.get(number)}]", f"[{schema}]"),
            )
            tried += 1
    assert tried > 80
    assert lab.catalog() == before


def test_every_verb_on_every_broker_object_and_principal_is_refused(lab, sender):
    before = lab.catalog()
    for view, verbs in BROKER.items():
        for (name,) in lab.rows(
            f"SELECT name FROM {view} WHERE name NOT LIKE 'http://schemas.microsoft.com%'"
        ):
            for verb in verbs:
                text = verb.format(name)
                if name == "application" and text.startswith("EXECUTE AS"):
                    continue
                answer = sender.execute(text)
                assert answer.errors, f"allowed: {text}"
    assert lab.catalog() == before


@pytest.mark.parametrize("text", ANYWHERE)
def test_he_makes_nothing_and_becomes_nobody(lab, sender, text):
    before = lab.catalog()
    refused(sender, text)
    assert lab.catalog() == before


def test_he_touches_no_conversation(lab, sender):
    before = lab.endpoints()
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints"):
        for text in (
            "SEND ON CONVERSATION '{0}' (0x01)",
            "END CONVERSATION '{0}'",
            "END CONVERSATION '{0}' WITH CLEANUP",
            "BEGIN CONVERSATION TIMER ('{0}') TIMEOUT = 1",
            "MOVE CONVERSATION '{0}' TO '{0}'",
        ):
            assert sender.execute(text.format(handle)).errors, text
    assert lab.endpoints() == before


def test_the_catalog_shows_him_usp_send_and_what_everybody_sees(lab, sender):
    names = [
        name for (name,) in sender.execute("SELECT name FROM sys.objects WHERE type <> 'TT'").rows()
    ]
    assert sorted(names) == sorted([*WAYS_TO_SEND, "Outbox_Insert"])
    seen_by_all = lab.login("nobody").execute
    hidden = set(lab.rows("SELECT name FROM sys.objects")) - {(name,) for name in names}
    for name in DECLARED:
        answer = sender.execute(f"SELECT * FROM {name}")
        if answer.errors:
            assert next(e.number for e in answer.errors) in {300, 229}, name
            continue
        rows, others = answer.rows(), seen_by_all(f"SELECT * FROM {name}")
        more = [row for row in rows if row not in (others.rows() if not others.errors else [])]
        texts = {cell for row in more for cell in row if isinstance(cell, str)}
        assert not texts & {name for (name,) in hidden}, name
        if name.startswith("sys.dm_") or "principal" in name or "token" in name:
            continue
        if name not in {"sys.conversation_endpoints", "sys.conversation_groups"}:
            assert len(more) <= PARAMETERS, (name, more)


def test_no_text_of_a_module_is_shown_to_him(lab, sender):
    assert set(sender.execute("SELECT definition FROM sys.sql_modules").rows()) == {(None,)}
    [(schema,)] = lab.rows("SELECT SCHEMA_NAME(schema_id) FROM sys.objects WHERE name = 'usp_Send'")
    send = f"{schema}.usp_Send"
    assert sender.execute(f"SELECT OBJECT_DEFINITION(OBJECT_ID('{send}'))").one() is None
    assert sender.execute(f"EXEC sp_helptext '{send}'").error().number == 15197
    assert lab.session.execute(f"SELECT OBJECT_DEFINITION(OBJECT_ID('{send}'))").one()
    for (name,) in lab.rows("SELECT name FROM sys.procedures"):
        if name in WAYS_TO_SEND:
            continue
        assert sender.execute(f"SELECT OBJECT_ID('{schema}.{name}')").one() is None
        assert sender.execute(f"EXEC sp_helptext '{schema}.{name}'").error().number == 15009


def test_after_all_that_he_still_sends(lab, sender):
    send(lab, b"after", sender)
    assert lab.landed()[-1] == b"after"
