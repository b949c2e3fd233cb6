"""key = pool: sessions share a fixed number of dialogs; who has a slot's lock has the slot."""

import pytest

from tests.installed import rendered, split

from .lab import Client, Lab, configured, send

SLOTS = "SELECT ConversationKey, Handle, BegunUtc FROM audit.SessionConversations ORDER BY 1;"


def pool_lab(size: int = 3, recycle: str = "never", wait_ms: int = 5000, **sections: dict) -> Lab:
    return Lab(
        configured(
            conversation={"key": "pool", "recycle": recycle},
            pool={"size": size, "wait_ms": wait_ms},
            **sections,
        )
    )


@pytest.fixture
def lab():
    return pool_lab()


def used(lab: Lab) -> list[str]:
    """Slots with a dialog."""
    return [slot for slot, _, begun in lab.rows(SLOTS) if begun is not None]


def start_slot(client: Client, size: int) -> str:
    return f"{client.value('@@SPID') % size + 1:04d}"


def test_the_slots_are_there_from_deployment_on_without_a_dialog(lab):
    """Feature pool shared by sessions: the dialog pool of 2008 kept its handles in a table too."""
    assert [slot for slot, _, _ in lab.rows(SLOTS)] == ["0001", "0002", "0003"]
    assert used(lab) == [] and lab.endpoints() == []


def test_sessions_one_after_the_other_reuse_dialogs_and_order_holds_in_each(lab):
    """Feature reuse of dialogs; seed 001: a pool manages a set of dialogs, one is asked for and
    returned. Here commit returns it.
    """
    clients = [Client(lab) for _ in range(5)]
    for number, client in enumerate(clients * 2):
        client.execute(send(f"0x0{number}"))
    assert len(used(lab)) <= 3
    assert len(lab.endpoints()) == 2 * len(used(lab))
    assert sorted(lab.bodies()) == [bytes([i]) for i in range(10)]


def test_a_sender_begins_at_the_slot_of_its_session(lab):
    client = Client(lab)
    client.execute(send())
    assert used(lab) == [start_slot(client, 3)]


def test_a_busy_slot_is_passed_over_not_waited_for_and_the_pool_grows(lab):
    clients = [Client(lab) for _ in range(3)]
    for number, client in enumerate(clients):
        client.execute("BEGIN TRANSACTION;" + send(f"0x0{number}"))
    assert len(used_dirty(lab)) == 3
    for client in clients:
        client.execute("COMMIT;")
    assert sorted(lab.bodies()) == [b"\x00", b"\x01", b"\x02"]
    assert len(used(lab)) == 3


def used_dirty(lab: Lab) -> list[tuple]:
    return lab.rows(
        "SELECT ConversationKey FROM audit.SessionConversations WITH (NOLOCK) "
        "WHERE BegunUtc IS NOT NULL;"
    )


def busy(lab: Lab, clients: int) -> list[Client]:
    """Clients with open transactions, each on a slot."""
    holders = [Client(lab) for _ in range(clients)]
    for holder in holders:
        holder.execute("BEGIN TRANSACTION;" + send("0xAA"))
    return holders


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "BEGIN TRANSACTION;"])
def test_all_busy_a_sender_waits_and_takes_the_slot_that_becomes_free(lab, settings):
    holders = busy(lab, 3)
    client = Client(lab)
    client.submit(settings + send("0x01") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert not client.out.finished
    for holder in holders:
        holder.execute("COMMIT;")
    assert client.out.finished and not client.errors
    assert b"\x01" in lab.bodies()
    assert len(used(lab)) == 3


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;"])
def test_all_busy_for_too_long_is_an_error_of_its_own_and_nothing_is_sent(lab, settings):
    holders = busy(lab, 3)
    client = Client(lab)
    client.submit(settings + send("0x01"))
    lab.advance(4)
    assert not client.out.finished
    lab.advance(2)
    assert client.out.finished and [e.number for e in client.errors] == [50101]
    assert "All 3 conversations of the pool were busy" in client.errors[0].text
    assert client.value("@@TRANCOUNT") == 0
    assert client.value("@@LOCK_TIMEOUT") == -1
    for holder in holders:
        holder.execute("COMMIT;")
    client.execute(send("0x02"))
    assert sorted(lab.bodies()) == [b"\x02", b"\xaa", b"\xaa", b"\xaa"]


def test_a_busy_pool_does_not_cost_the_caller_its_work(lab):
    lab.sa.execute("CREATE TABLE dbo.Orders (Id int);")
    holders = busy(lab, 3)
    client = Client(lab)
    client.submit("BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);" + send("0x01"))
    lab.advance(6)
    assert [e.number for e in client.errors] == [50101]
    client.execute("COMMIT;")
    for holder in holders:
        holder.execute("ROLLBACK;")
    assert lab.rows("SELECT Id FROM dbo.Orders;") == [(1,)]
    assert lab.bodies() == []


def test_a_callers_shorter_lock_timeout_counts_and_a_longer_one_does_not(lab):
    holders = busy(lab, 3)
    hasty, patient = Client(lab), Client(lab)
    hasty.submit("SET LOCK_TIMEOUT 1000;" + send())
    patient.submit("SET LOCK_TIMEOUT 60000;" + send())
    lab.advance(2)
    assert [e.number for e in hasty.errors] == [50101] and not patient.out.finished
    lab.advance(4)
    assert [e.number for e in patient.errors] == [50101]
    assert patient.value("@@LOCK_TIMEOUT") == 60000
    assert len(holders) == 3


def test_a_pool_that_does_not_wait_answers_at_once():
    lab = pool_lab(size=1, wait_ms=0)
    busy(lab, 1)
    assert Client(lab).fail(send()) == 50101


def on_the_start_slot_of(lab: Lab, client: Client) -> Client:
    """Another client, with an open transaction on the slot where the client's search starts."""
    holder = Client(lab)
    while start_slot(holder, 3) != start_slot(client, 3):
        holder = Client(lab)
    holder.execute("BEGIN TRANSACTION;" + send("0xAA"))
    return holder


@pytest.mark.parametrize("settings", ["BEGIN TRANSACTION;", "SET IMPLICIT_TRANSACTIONS ON;"])
def test_a_transaction_keeps_its_slot_so_its_messages_stay_in_order(lab, settings):
    """A slot before ours in the order of slots becomes free between two sends. Without autocommit
    nothing is open yet when the first message is sent (F-137).
    """
    client = Client(lab)
    holder = on_the_start_slot_of(lab, client)
    client.execute(settings)
    client.execute(send("0x01"))
    holder.execute("ROLLBACK;")
    client.execute(send("0x02") + send("0x03") + "COMMIT;")
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert lab.rows("SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing;") == [(1,)]


def test_a_number_left_over_from_an_earlier_transaction_is_only_a_proposal(lab):
    """After a restart transaction numbers may come again; the slot may be somebody's (F-151)."""
    client, holder = Client(lab), Client(lab)
    holder.execute("BEGIN TRANSACTION;" + send("0xAA"))
    client.execute("BEGIN TRANSACTION; SELECT 1;")
    number = client.value("CURRENT_TRANSACTION_ID()")
    lab.sa.execute(
        f"UPDATE audit.SessionConversations WITH (READPAST) SET TransactionId = {number};"
    )
    client.execute(send("0x01") + send("0x02") + "COMMIT;")
    holder.execute("COMMIT;")
    assert sorted(lab.bodies()) == [b"\x01", b"\x02", b"\xaa"]


@pytest.mark.parametrize("end", ["ROLLBACK", "kill"])
def test_no_crash_can_leak_a_slot(end):
    """A row lock is the lease: rollback and kill give it back, with the dialog that was begun."""
    lab = pool_lab(size=1)
    (holder,) = busy(lab, 1)
    if end == "kill":
        lab.sa.execute(f"KILL {holder.session.id};")
    else:
        holder.execute("ROLLBACK;")
    assert used(lab) == [] and lab.endpoints() == []
    Client(lab).execute(send("0x01"))
    assert lab.bodies() == [b"\x01"]


@pytest.mark.parametrize("settings", ["", "SET XACT_ABORT ON;", "BEGIN TRANSACTION;"])
def test_a_dead_handle_is_replaced_in_its_slot(settings):
    """Thread ST#188, under a pool: the caller never sees the handle that is not found."""
    lab = pool_lab(size=1)
    client = Client(lab)
    client.execute(send("0x01"))
    lab.sa.execute(f"END CONVERSATION '{lab.handle()}' WITH CLEANUP;")
    client.execute(settings + send("0x02") + "IF @@TRANCOUNT > 0 COMMIT;")
    assert used(lab) == ["0001"]
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_an_error_from_the_target_frees_the_slot_for_another_dialog():
    """CoreyKaylor's pool kept the row of a failed dialog, and empty catches hid it."""
    lab = pool_lab(size=1)
    client = Client(lab)
    client.execute(send("0x01"))
    first = lab.handle()
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{target}' WITH ERROR = 60 DESCRIPTION = N'no';")
    assert used(lab) == [] and lab.handle() != first
    client.execute(send("0x02"))
    assert lab.bodies() == [b"\x01", b"\x02"]


def test_with_a_timer_a_slots_dialog_is_recycled_and_the_slot_stays():
    lab = pool_lab(size=2, recycle="timer")
    client = Client(lab)
    client.execute(send("0x01"))
    lab.advance(2 * 3600)
    assert used(lab) == [] and len(lab.rows(SLOTS)) == 2
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 1
    client.execute(send("0x02"))
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert lab.errors() == []


def test_aged_out_a_slots_dialog_is_replaced_by_its_sender():
    lab = pool_lab(1, "aged_out", aged_out={"after_seconds": 0, "after_messages": 2})
    clients = [Client(lab), Client(lab)]
    for number in range(5):
        clients[number % 2].execute(send(f"0x0{number}"))
    assert lab.bodies() == [bytes([i]) for i in range(5)]
    assert lab.rows("SELECT COUNT(*) FROM audit.ConversationLog;") == [(3,)]


def test_a_closed_gate_refuses_and_the_slot_is_free_again(lab):
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 0;")
    assert Client(lab).fail(send()) == 50102
    assert used(lab) == []
    lab.sa.execute("UPDATE audit.Gate SET IsOpen = 1;")
    Client(lab).execute(send("0x01"))
    assert lab.bodies() == [b"\x01"]


@pytest.mark.parametrize("level", ["SERIALIZABLE", "READ UNCOMMITTED", "REPEATABLE READ"])
def test_callers_of_every_isolation_level_may_use_the_pool(lab, level):
    """READPAST is refused (650) under some of them; usp_Send leaves them (F-125)."""
    client, other = Client(lab), Client(lab)
    client.execute(f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION;" + send("0x01"))
    other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION;" + send("0x02"))
    client.execute("COMMIT;")
    other.execute("COMMIT;")
    assert sorted(lab.bodies()) == [b"\x01", b"\x02"]


def deploy(lab: Lab, size: int) -> None:
    """The scripts again, for a pool of another size."""
    pool = lab.config.pool.model_copy(update={"size": size})
    config = lab.config.model_copy(update={"pool": pool})
    for name, text in rendered(config).items():
        if name[:2].isdigit():
            for batch in split(text):
                lab.sa.submit(batch.sql)
                lab.advance(10)  # what a drain waits for
                assert lab.sa.out.finished and not lab.sa.errors, (name, lab.sa.errors)


def test_a_larger_pool_gets_the_slots_that_are_missing(lab):
    deploy(lab, 5)
    assert [slot for slot, _, _ in lab.rows(SLOTS)] == [f"000{i}" for i in range(1, 6)]


def test_a_smaller_pool_has_closed_and_dropped_what_is_beyond_it(lab):
    """The size of a pool drains nothing (29_change): the slots that stay go on."""
    for holder in busy(lab, 3):
        holder.execute("COMMIT;")
    deploy(lab, 1)
    assert [slot for slot, _, _ in lab.rows(SLOTS)] == ["0001"]
    Client(lab).execute(send("0xBB"))
    assert sorted(lab.bodies()) == [b"\xaa", b"\xaa", b"\xaa", b"\xbb"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 2


def test_a_deployer_whose_cursors_close_on_commit_makes_the_pool_smaller_too(lab):
    for holder in busy(lab, 3):
        holder.execute("COMMIT;")
    lab.sa.execute("SET CURSOR_CLOSE_ON_COMMIT ON;")
    deploy(lab, 1)
    assert [slot for slot, _, _ in lab.rows(SLOTS)] == ["0001"]


def test_slots_beyond_the_size_are_closed_and_dropped_unless_they_are_busy(lab):
    """What a deployment that did not drain has left, one slot still in a transaction."""
    lab.sa.execute(
        "INSERT INTO audit.SessionConversations (ConfigId, ConversationKey, Handle) "
        "VALUES (1, N'0004', NEWID()), (1, N'0005', NEWID());"
    )
    holder = Client(lab)
    holder.execute(
        "BEGIN TRANSACTION; UPDATE audit.SessionConversations SET TransactionId = 0 "
        "WHERE ConfigId = 1 AND ConversationKey = N'0005';"
    )
    deploy(lab, 3)
    holder.execute("COMMIT;")
    assert [slot for slot, _, _ in lab.rows(SLOTS)] == ["0001", "0002", "0003", "0005"]
    deploy(lab, 3)
    assert [slot for slot, _, _ in lab.rows(SLOTS)] == ["0001", "0002", "0003"]
