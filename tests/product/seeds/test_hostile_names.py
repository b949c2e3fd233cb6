"""Names with brackets, quotes, Unicode and 128 characters: data, never syntax."""

from __future__ import annotations

import pytest

from redial.config import Config
from redial_lab.proof.audit_setups import small_config

from .lab import RECYCLE_AFTER, Lab

HOSTILE = {
    "brackets": "]x[]]",
    "quotes": "a'b\"c''d",
    "comment": "x] --/* ; DROP TABLE t; GO",
    "unicode": "\u00dcn\u00ef \u6f22\u5b57 \U0001f600 \u0130\u0131",
    "long": "]'\"\u6f22" * 32,
}


def renamed(name: str) -> Config:
    """The audit configuration with ``name`` wherever a name is free, cut to 128 UTF-16 units."""

    def own(suffix: str) -> str:
        text = name
        while len((text + suffix).encode("utf-16-le")) > 256:
            text = text[:-1]
        return text + suffix

    data = small_config().model_dump(by_alias=True, mode="json")
    data |= {
        "schema": own("s"),
        "services": {"initiator": own("1"), "target": own("2")},
        "queues": {"initiator": own("3"), "target": own("4")},
        "contract": {"name": own("5"), "end_of_stream": own("6")},
        "roles": data["roles"] | {k: own(k[0]) for k in ("module", "sender", "operator", "reader")},
    }
    data["message_types"][0]["name"] = own("7")
    return Config.model_validate(data)


@pytest.fixture(params=HOSTILE)
def hostile(request) -> Lab:
    return Lab(renamed(HOSTILE[request.param]))


def test_such_a_configuration_deploys_sends_recycles_lands_and_ends(hostile):
    hostile.send(b"\x01")
    hostile.advance(RECYCLE_AFTER)
    assert hostile.landed() == [b"\x01"]
    assert hostile.landed_types()[1] == hostile.config.contract.end_of_stream
    assert hostile.endpoints() == [("target", "CLOSED")]
    assert (hostile.errors(), hostile.dead()) == ([], [])
    hostile.at_rest()


def test_the_catalog_has_the_names_letter_by_letter(hostile):
    config = hostile.config
    names = {
        row[0]
        for row in hostile.rows(
            "SELECT name FROM sys.services UNION ALL SELECT name FROM sys.service_contracts "
            "UNION ALL SELECT name FROM sys.service_message_types UNION ALL SELECT name "
            "FROM sys.service_queues UNION ALL SELECT name FROM sys.schemas "
            "UNION ALL SELECT name FROM sys.database_principals;"
        )
    }
    assert {
        config.schema_name,
        config.services.initiator,
        config.services.target,
        config.queues.initiator,
        config.queues.target,
        config.contract.name,
        config.contract.end_of_stream,
        config.message_types[0].name,
        config.roles.module,
        config.roles.sender,
    } <= names


def test_errors_quote_the_names_as_they_are(hostile):
    [error] = hostile.call_send(b"x", toService="nowhere").errors
    assert error.number == 50100
    assert f"'{hostile.config.services.target}'" in error.text


@pytest.mark.sampled(every=4)
def test_pending_messages_of_such_names_are_resent(hostile):
    hostile.target_queue("OFF")
    hostile.send(b"x")
    hostile.advance(hostile.config.conversation.lifetime_seconds)
    assert hostile.pending() == [(0, b"x")]
    hostile.target_queue("ON")
    assert hostile.landed() == [b"x"]


@pytest.mark.sampled(every=4)
def test_a_second_deployment_and_the_uninstall_find_every_object(hostile):
    hostile.deploy()
    hostile.uninstall(purge=True)
    assert hostile.rows("SELECT COUNT(*) FROM sys.objects WHERE type IN ('U', 'P');") == [(0,)]
    assert hostile.rows("SELECT COUNT(*) FROM sys.service_queues WHERE is_ms_shipped = 0;") == [
        (0,)
    ]
    assert hostile.rows(
        "SELECT COUNT(*) FROM sys.database_principals WHERE name = N'"
        + hostile.config.roles.module.replace("'", "''")
        + "';"
    ) == [(0,)]
