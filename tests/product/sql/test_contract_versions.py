"""A new version of the contract beside live conversations, and the old one's way out."""

import pytest

from redial.config import Config
from tests.choices import OTHERS, PAIRS

from .bare import Bare, another, installation
from .lab import AUDIT, Client

EVENT, NOTE = "//redial/audit/event", "//redial/audit/note"
V1, V2, V3 = (f"//redial/audit/contract{v}" for v in ("", "/2", "/3"))
ON = (
    "SELECT sc.name, ce.state FROM sys.conversation_endpoints AS ce "
    "INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = ce.service_contract_id "
    "WHERE ce.is_initiator = 1 ORDER BY sc.name;"
)
HANDLES = "SELECT Handle FROM audit.SessionConversations ORDER BY ConversationKey;"
CONTRACTS = "SELECT name FROM sys.service_contracts WHERE name LIKE N'//redial/%' ORDER BY name;"


def version(name: str, previous: list[str], *types: str) -> Config:
    return another(
        AUDIT,
        contract={"name": name, "previous": previous},
        message_types=[{"name": each, "validation": "none"} for each in types],
    )


TWO = version(V2, [V1], EVENT, NOTE)


def call(body: str, contract: str = V1, message_type: str = EVENT) -> str:
    return (
        f"EXECUTE audit.usp_Send N'{AUDIT.services.initiator}', N'{AUDIT.services.target}', "
        f"N'{contract}', N'{message_type}', {body};"
    )


@pytest.fixture
def bare() -> Bare:
    return Bare.deployed(AUDIT)


def landed(bare: Bare) -> list[bytes]:
    return [body for _, kind, body in bare.landed() if kind in (EVENT, NOTE)]


def test_live_dialogs_go_on_with_the_old_version_until_a_new_type_is_sent(bare):
    """Feature versions: a new message type beside live conversations, none lost, in order."""
    client, other = Client(bare), Client(bare)
    client.execute(call("0x01"))
    other.execute(call("0x02"))
    handle = bare.rows(HANDLES)
    bare.deploy(TWO)
    client.execute(call("0x03"))  # a caller that knows the old version only
    client.execute(call("0x04", V2))
    assert bare.rows(HANDLES) == handle
    assert bare.rows(ON) == [(V1, "CO"), (V1, "CO")]
    client.execute(call("0x05", V2, NOTE))
    assert {name for name, _ in bare.rows(ON)} == {V1, V2}
    client.execute(call("0x06"))
    bare.advance(30)
    mine = [body for body in landed(bare) if body != b"\x02"]
    assert mine == [b"\x01", b"\x03", b"\x04", b"\x05", b"\x06"]
    assert bare.rows(ON) == [(V1, "CO"), (V2, "CO")]
    assert bare.errors() == []


def test_inside_a_callers_transaction_the_old_dialog_is_closed_with_the_callers_work(bare):
    client = Client(bare)
    client.execute(call("0x01"))
    bare.deploy(TWO)
    client.execute("BEGIN TRANSACTION; " + call("0x02") + call("0x03", V2, NOTE) + " ROLLBACK;")
    client.execute("BEGIN TRANSACTION; " + call("0x04") + call("0x05", V2, NOTE) + " COMMIT;")
    bare.advance(30)
    assert landed(bare) == [b"\x01", b"\x04", b"\x05"]
    assert bare.errors() == []


def test_a_version_that_is_listed_no_more_is_drained_then_dropped_when_its_memory_has_gone(bare):
    client = Client(bare)
    client.execute(call("0x01"))
    bare.deploy(TWO)
    client.execute(call("0x02"))
    bare.deploy(version(V2, [], EVENT, NOTE))
    assert bare.rows(CONTRACTS) == [(V1,), (V2,)]  # CLOSED endpoints are still on it: kept
    assert client.fail(call("0x03")) == 50100
    client.execute(call("0x03", V2, NOTE))
    bare.advance(3600)
    bare.deploy(version(V2, [], EVENT, NOTE))
    assert bare.rows(CONTRACTS) == [(V2,)]
    assert landed(bare) == [b"\x01", b"\x02", b"\x03"]


def test_a_type_taken_out_goes_when_no_contract_has_it(bare):
    client = Client(bare)
    bare.deploy(TWO)
    client.execute(call("0x01", V2, EVENT))
    three = version(V3, [V2], NOTE)
    bare.deploy(three)
    assert client.fail(call("0x02", V2, EVENT)) == 50100
    client.execute(call("0x02", V2, NOTE))
    assert bare.rows(ON) == [(V2, "CO")]
    bare.deploy(version(V3, [], NOTE))
    bare.advance(3600)
    client.execute(call("0x03", V3, NOTE))
    bare.deploy(version(V3, [], NOTE))
    assert bare.rows(CONTRACTS) == [(V3,)]
    types = bare.rows("SELECT name FROM sys.service_message_types WHERE name LIKE N'//redial/%';")
    assert types == [(NOTE,)]
    assert landed(bare) == [b"\x01", b"\x02", b"\x03"]


def test_a_type_added_without_a_new_version_is_refused_before_anything_changes(bare):
    before = bare.catalog()
    assert bare.stops(installation(version(V1, [], EVENT, NOTE))) == 50192
    assert bare.catalog() == before


@pytest.mark.parametrize(("key", "recycle"), [pair for pair in PAIRS if pair[0] in OTHERS])
def test_every_key_takes_a_new_version_and_a_new_type(key, recycle):
    bare = Bare()
    sections = {"conversation": {"key": key, "recycle": recycle}}
    bare.deploy(another(AUDIT, **sections))
    client = Client(bare)
    client.execute(call("0x01"))
    bare.deploy(another(TWO, **sections))
    client.execute(call("0x02"))
    client.execute(call("0x03", V2, NOTE))
    bare.advance(30)
    assert sorted(landed(bare)) == [b"\x01", b"\x02", b"\x03"]
    assert bare.errors() == []


def test_a_priority_follows_the_contract_so_that_the_old_version_can_go():
    bare = Bare()
    first = another(AUDIT, priority={"level": 7})
    bare.deploy(first)
    Client(bare).execute(call("0x01"))
    second = another(TWO, priority={"level": 7}, contract={"name": V2, "previous": []})
    bare.deploy(second)
    bare.advance(3600)
    bare.deploy(second)
    assert bare.rows(CONTRACTS) == [(V2,)]
    assert bare.rows("SELECT DISTINCT priority FROM sys.conversation_priorities;") == [(7,)]


def batch(*messages: tuple[str, str], contract: str = V2) -> str:
    """A call of usp_SendBatch: (body, message type) each."""
    rows = ", ".join(f"({n}, N'{kind}', {body})" for n, (body, kind) in enumerate(messages))
    return (
        f"DECLARE @m audit.MessageBatch; INSERT INTO @m (Ordinal, MessageType, MessageBody) "
        f"VALUES {rows}; EXECUTE audit.usp_SendBatch N'{AUDIT.services.initiator}', "
        f"N'{AUDIT.services.target}', N'{contract}', @m;"
    )


def test_a_batch_of_old_types_only_goes_on_with_the_old_dialog(bare):
    client = Client(bare)
    client.execute(call("0x01"))
    handle = bare.rows(HANDLES)
    bare.deploy(TWO)
    client.execute(batch(("0x02", EVENT), ("0x03", EVENT)))
    assert bare.rows(HANDLES) == handle and bare.rows(ON) == [(V1, "CO")]
    client.execute(batch(("0x04", EVENT), ("0x05", NOTE)))
    assert bare.rows(HANDLES) != handle and (V2, "CO") in bare.rows(ON)
    bare.advance(30)
    assert landed(bare) == [b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"]
    assert bare.errors() == []


def test_a_batch_of_the_new_type_only_leaves_the_old_dialog(bare):
    client = Client(bare)
    client.execute(call("0x01"))
    bare.deploy(TWO)
    client.execute(batch(("0x02", NOTE), ("0x03", NOTE)))
    bare.advance(30)
    assert landed(bare) == [b"\x01", b"\x02", b"\x03"]
    assert (V2, "CO") in bare.rows(ON) and bare.errors() == []
