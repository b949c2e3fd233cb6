"""No dialog is used near the end of its lifetime, and none is changed in mid-transaction.

The margin is the longest transaction promised to callers, a retry, and a minute for the clock
(F-465): whoever sends before it has committed before the end.
"""

from __future__ import annotations

import pytest

from redial.config.keys import keys_with
from redial_broker.catalog import conversation_views
from tests.choices import KEYS, TRAITS

from .lab import Client, Lab, configured, send

NEVER = [(key, "never") for key in KEYS if not TRAITS[key].per_message]
"""A dialog for each message is used only once."""
AGED = [(keys[0], "aged_out") for keys in (keys_with("row_of_one_key"), keys_with("slots"))]
LIFE, LONGEST, RETRY = 1000, 100, 1
MARGIN = LONGEST + RETRY + 60
DIALOGS = "SELECT DISTINCT ConversationId FROM audit.Landing WHERE Body IN ({});"


def lab_of(key: str, recycle: str) -> Lab:
    return Lab(
        configured(
            conversation={
                "key": key,
                "recycle": recycle,
                "lifetime_seconds": LIFE,
                "longest_transaction_seconds": LONGEST,
            },
            timer={"after_seconds": 60, "spread_seconds": 0, "retry_seconds": RETRY},
            aged_out={"after_seconds": 0, "after_messages": 2, "spread_messages": 0},
        )
    )


def call(key: str, body: str) -> str:
    return send(body, key="N'k'" if TRAITS[key].named else None)


@pytest.mark.parametrize(("key", "recycle"), NEVER)
def test_a_dialog_near_its_end_is_replaced_by_the_next_send(key, recycle):
    lab = lab_of(key, recycle)
    client = Client(lab)
    client.execute(call(key, "0xA1"))
    lab.advance(LIFE - MARGIN - 1)
    client.execute(call(key, "0xA2"))
    lab.advance(1)
    client.execute(call(key, "0xA3"))
    lab.advance(5)
    assert len(lab.rows(DIALOGS.format("0xA1, 0xA2"))) == 1
    assert len(lab.rows(DIALOGS.format("0xA2, 0xA3"))) == 2
    assert lab.bodies() == [b"\xa1", b"\xa2", b"\xa3"]
    ended = lab.rows("SELECT Code FROM audit.ConversationLog WHERE EndedUtc IS NOT NULL;")
    assert ended == ([] if TRAITS[key].everlasting else [(0,)]), (
        "an everlasting one is nobody's to close"
    )


@pytest.mark.parametrize(("key", "recycle"), NEVER + AGED)
def test_a_transaction_that_has_sent_stays_on_its_dialog(key, recycle):
    """1. A sends, its dialog near its margin or its count. 2. That is passed. 3. A sends on."""
    lab = lab_of(key, recycle)
    client = Client(lab)
    client.execute(call(key, "0xA1"))
    lab.advance(LIFE - MARGIN - 1)
    client.execute(f"BEGIN TRANSACTION; {call(key, '0xA2')}")
    lab.advance(LONGEST - 1)
    client.execute(f"{call(key, '0xA3')} {call(key, '0xA4')} COMMIT TRANSACTION;")
    lab.advance(5)
    assert len(lab.rows(DIALOGS.format("0xA2, 0xA3, 0xA4"))) == 1
    assert [body for body in lab.bodies() if body != b"\xa1"] == [b"\xa2", b"\xa3", b"\xa4"]


@pytest.mark.parametrize(("key", "recycle"), NEVER)
def test_a_dialog_that_dies_in_mid_transaction_is_replaced_and_nothing_is_lost(key, recycle):
    """The one exception: the messages before and after are on two dialogs."""
    lab = lab_of(key, recycle)
    client = Client(lab)
    client.execute(call(key, "0xA1"))
    client.execute(f"BEGIN TRANSACTION; {call(key, '0xA2')}")
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.rows(f"END CONVERSATION '{target}';")
    client.execute(f"{call(key, '0xA3')} COMMIT TRANSACTION;")
    lab.advance(5)
    client.execute(call(key, "0xA4"))
    lab.advance(5)
    assert sorted(lab.bodies()) == [b"\xa1", b"\xa2", b"\xa3", b"\xa4"]


@pytest.mark.parametrize("hours", [-8, 8])
@pytest.mark.parametrize(("key", "recycle"), NEVER)
def test_a_view_that_shows_local_time_costs_dialogs_and_no_message(
    key, recycle, hours, monkeypatch
):
    """F-465 takes it for UTC: behind, each send begins a dialog; ahead, one that is used expires."""
    moment = conversation_views.moment
    monkeypatch.setattr(
        conversation_views,
        "moment",
        lambda seconds: None if seconds is None else moment(seconds + 3600 * hours),
    )
    lab = lab_of(key, recycle)
    client = Client(lab)
    for body in ("0xA1", "0xA2"):
        client.execute(call(key, body))
        lab.advance(LIFE - MARGIN // 2)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    client.execute(call(key, "0xA3"))
    lab.advance(LIFE + 1)
    lab.rows("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(5)
    client.execute(call(key, "0xA4"))
    lab.advance(LIFE)
    assert sorted(set(lab.bodies())) == [b"\xa1", b"\xa2", b"\xa3", b"\xa4"]
    dialogs = lab.rows("SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing;")
    assert dialogs == [(4,)] or hours > 0
