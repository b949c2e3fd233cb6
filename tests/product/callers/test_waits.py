"""Callers that are stopped while usp_Send waits: for the row R, or for the conversation group G."""

import pytest

from tests.choices import PRIVATE, TRAITS

from .stage import BATCH, WAYS, Stage, switched, ways

pytestmark = pytest.mark.sampled(every=8, meets=("key",))


def waited_for(traits, lock):
    """Whether a sender of such a key can be made to wait for R, or for G."""
    return traits.row_of_one_key if lock == "R" else not traits.per_message


WAITS = [
    (way, lock)
    for way in WAYS
    for lock in ("R", "G")
    if waited_for(TRAITS[way.removesuffix(BATCH)], lock)
]
"""What a sender of each key can be made to wait for. A pool's sender passes over busy rows, and
with single and message there is no R."""

waits = pytest.mark.parametrize(("key", "lock"), WAITS, ids=["-".join(pair) for pair in WAITS])
ABORT = pytest.mark.parametrize("abort", ["OFF", "ON"])
OWNS = pytest.mark.parametrize("own", [True, False], ids=["its own transaction", "the caller's"])

HOLD = {
    "R": "SELECT sc.Handle FROM audit.SessionConversations AS sc WITH (UPDLOCK);",
    "G": "DECLARE @h uniqueidentifier = (SELECT TOP (1) conversation_handle FROM "
    "sys.conversation_endpoints WHERE is_initiator = 1); "
    "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 3000;",
}


def held(key, lock, switches=None):
    """A stage where T1 has a dialog and the holder keeps its R or its G; (stage, T1, holder)."""
    stage = Stage(key, switches)
    t1, holder = stage.caller(), stage.caller()
    t1.does(stage.send("01"))
    stage.instance.advance(5)
    holder.does("BEGIN TRANSACTION;" + HOLD[lock])
    return stage, t1, holder


def call(stage, own, abort):
    """T1's batch: a send, alone or behind a row it wrote itself."""
    before = "" if own else "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);"
    return f"SET XACT_ABORT {abort}; {before} {stage.send('02')} {'' if own else 'COMMIT;'}"


@waits
@ABORT
@OWNS
def test_it_waits_and_is_sent_when_the_lock_is_free(key, lock, abort, own):
    """1 The holder has the lock. 2 T1 blocks. 3 The holder commits: T1 has sent."""
    stage, t1, holder = held(key, lock)
    t1.blocks(call(stage, own, abort))
    assert t1.waits_for() == ("KEY" if lock == "R" else "CONVERSATION_GROUP")
    holder.does("COMMIT;")
    t1.has_ended()
    assert (stage.orders(), stage.landed()) == ([] if own else [1], ["01", "02"])
    stage.is_clean()


@waits
@ABORT
@OWNS
@switched("failed_statement_locks")
def test_a_cancel_while_it_waits_leaves_nothing_of_its_own(key, lock, abort, own, switches):
    """1 T1 blocks. 2 Its client cancels. 3 The pool resets the connection: nothing is left.

    In a transaction of its own nothing is left at once. The caller's own transaction stays open
    after a cancel (always, while it waits for G: XACT_ABORT is OFF around SEND), and is the
    client's to roll back; a pool does it (sp_reset_connection).
    """
    stage, t1, holder = held(key, lock, switches)
    t1.blocks(call(stage, own, abort))
    t1.cancels()
    holder.does("ROLLBACK;")
    if own:
        assert t1.value("@@TRANCOUNT") == 0
        stage.is_clean()
    t1.returns_to_the_pool()
    assert (stage.orders(), stage.landed()) == ([], ["01"])
    stage.is_clean()
    t1.does("USE lab;" + stage.send("03"))
    assert stage.landed() == ["01", "03"]
    stage.is_clean()


@waits
@ABORT
@OWNS
@pytest.mark.parametrize("how", ["killed", "disconnected"])
def test_a_kill_or_a_broken_connection_while_it_waits_leaves_nothing(key, lock, abort, own, how):
    """1 T1 blocks. 2 It is killed, or its connection breaks. 3 Nothing is left, others send."""
    stage, t1, holder = held(key, lock)
    t1.blocks(call(stage, own, abort))
    if how == "killed":
        stage.dba.does(f"KILL {t1.session.id};")
        assert t1.errors == [596]
    else:
        t1.leaves()
    holder.does("ROLLBACK;")
    assert (stage.orders(), stage.landed()) == ([], ["01"])
    stage.is_clean()
    stage.caller().does(stage.send("03"))
    assert stage.landed() == ["01", "03"]
    stage.is_clean()


@waits
@ABORT
@OWNS
@pytest.mark.parametrize("timeout", [0, 100])
@switched("group_lock_timeout", "failed_statement_locks")
def test_a_lock_timeout_is_a_clear_error_and_no_message(key, lock, abort, own, timeout, switches):
    """1 T1 sets LOCK_TIMEOUT. 2 It sends while the lock is held: 1222. 3 It may go on as it likes.

    Whether the time-out is heeded for a group is unknown (F-277): then T1 waits and is sent. The
    caller's transaction lives on with XACT_ABORT OFF, its own work in it, and is doomed with ON.
    """
    stage, t1, holder = held(key, lock, switches)
    out = t1.starts(f"SET LOCK_TIMEOUT {timeout};" + call(stage, own, abort))
    if not out.finished:
        stage.instance.advance(1)
    if not out.finished:
        assert lock == "G" and switches["group_lock_timeout"] == "waits"
        holder.does("COMMIT;")
        t1.has_ended()
        assert stage.landed() == ["01", "02"]
        stage.is_clean()
        return
    t1.has_ended(1222)
    alive = not own and abort == "OFF"
    assert t1.value("@@TRANCOUNT") == (1 if alive else 0)
    if alive:
        t1.does("COMMIT;")
    assert (stage.orders(), stage.landed()) == ([1] if alive else [], ["01"])
    holder.does("ROLLBACK;")
    stage.is_clean()
    t1.does(stage.send("03"))
    assert stage.landed() == ["01", "03"]
    stage.is_clean()


@waits
@pytest.mark.parametrize("timeout", [0, 100])
@switched("group_lock_timeout", "failed_statement_locks")
def test_a_lock_timeout_in_a_try_leaves_the_rest_of_the_transaction(key, lock, timeout, switches):
    """1 T1 writes a row, sends in a TRY under LOCK_TIMEOUT, catches 1222, commits its row."""
    stage, t1, holder = held(key, lock, switches)
    out = t1.starts(
        f"SET LOCK_TIMEOUT {timeout}; BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1); BEGIN "
        f"TRY {stage.send('02')} END TRY BEGIN CATCH IF XACT_STATE() = -1 THROW; END CATCH; "
        "COMMIT;"
    )
    stage.instance.advance(1)
    if not out.finished:
        assert switches["group_lock_timeout"] == "waits"
    holder.does("COMMIT;")
    t1.has_ended()
    assert stage.orders() == [1]
    assert stage.landed() in (["01"], ["01", "02"])
    stage.is_clean()


@ways
def test_a_first_send_that_is_cancelled_or_reset_midway_leaves_no_dialog(key):
    """1 T1's first send stays open in its transaction. 2 The pool resets the connection."""
    stage = Stage(key)
    t1 = stage.caller()
    before = stage.dba.rows("SELECT Handle FROM audit.SessionConversations;")
    t1.does("SET XACT_ABORT ON; BEGIN TRANSACTION;" + stage.send("01"))
    t1.returns_to_the_pool()
    assert stage.dba.rows("SELECT Handle FROM audit.SessionConversations;") == before
    assert stage.dba.rows("SELECT 1 FROM sys.conversation_endpoints;") == []
    stage.is_clean()
    t1.does("USE lab;" + stage.send("02"))
    assert stage.landed() == ["02"]
    stage.is_clean()


@pytest.mark.parametrize("key", PRIVATE)
def test_the_next_user_of_a_pooled_connection_sends_on_the_same_dialog(key):
    """1 T1 sends. 2 Its connection goes through the pool. 3 The next user sends: one dialog."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    t1.returns_to_the_pool()
    t1.does("USE lab;" + stage.send("02"))
    assert stage.landed() == ["01", "02"]
    assert stage.dba.rows("SELECT COUNT(*) FROM audit.ConversationLog;") == [(1,)]
    stage.is_clean()


@pytest.mark.parametrize("key", PRIVATE)
def test_a_new_session_with_an_old_number_takes_over_its_row(key):
    """1 T1 sends and disconnects. 2 T2 gets its session id and sends: the row is there already."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(stage.send("01"))
    number = t1.session.id
    t1.leaves()
    t2 = stage.caller()
    assert t2.session.id == number
    t2.does(stage.send("02"))
    assert stage.landed() == ["01", "02"]
    assert stage.dba.rows("SELECT COUNT(*) FROM audit.SessionConversations;") == [(1,)]
    stage.is_clean()
