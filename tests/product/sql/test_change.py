"""Another choice on a deployed configuration: the gate, the drain, and nothing lost on the way."""

import pytest

from redial.config import Config
from redial.config.choices import Key, Recycle
from redial_broker.exec.ddl.probing import unprobed
from tests.choices import PAIRS
from tests.sampling import crash_stride, full

from . import catalog
from .bare import Bare, another, fresh_catalog, installation
from .lab import AUDIT, Client

STRIDE = crash_stride(61)
"""Every how many batches the test of a killed change kills."""

CHOICES = [(Key(key), Recycle(recycle)) for key, recycle in PAIRS]


def config_of(key: Key, recycle: Recycle, **sections: object) -> Config:
    return another(AUDIT, conversation={"key": key.value, "recycle": recycle.value}, **sections)


def call(config: Config, body: str, key: str | None = None) -> str:
    """A call of usp_Send; the key goes along where the configuration has keys."""
    stated = f", N'{key}'" if config.traits.named else ""
    return (
        f"EXECUTE audit.usp_Send N'{config.services.initiator}', N'{config.services.target}', "
        f"N'{config.contract.name}', N'{config.message_types[0].name}', {body}{stated};"
    )


def refused(client: Client) -> bool:
    """Did the last send meet the closed gate? Any other error fails the test."""
    numbers = [error.number for error in client.errors]
    assert numbers in ([], [50102]), client.errors
    return numbers == [50102]


class Senders:
    """Three sessions that count what they were told has been sent."""

    def __init__(self, bare: Bare) -> None:
        self.bare = bare
        self.clients = [Client(bare) for _ in range(3)]
        self.sent: list[bytes] = []

    def send(self, config: Config, refusable: bool = False) -> int:
        """One message from each; how many the gate kept out."""
        out = 0
        for number, client in enumerate(self.clients):
            body = len(self.sent).to_bytes(3, "big") + bytes([number])
            client.submit(call(config, "0x" + body.hex(), f"key {number}"))
            assert client.out.finished
            if refused(client):
                assert refusable
                out += 1
            else:
                self.sent.append(body)
        return out

    def check(self) -> None:
        """Everything sent has landed once, in order within each conversation, and none is dead."""
        bare = self.bare
        bare.advance(30)
        assert sorted(bare.bodies()) == sorted(self.sent)
        for (conversation,) in bare.rows("SELECT DISTINCT ConversationId FROM audit.Landing;"):
            sequences = [
                row[0]
                for row in bare.rows(
                    "SELECT MessageSequence FROM audit.Landing WHERE ConversationId = "
                    f"'{conversation}' ORDER BY RowVersion;"
                )
            ]
            assert sequences == sorted(sequences)
        assert bare.rows("SELECT * FROM audit.DeadLetter;") == []
        assert bare.errors() == []


def change(bare: Bare, senders: Senders, old: Config, new: Config) -> int:
    """Deploy ``new`` over ``old`` while senders go on with the old one; how many were kept out."""
    out = 0
    with unprobed(bare.instance.server):
        for sql in installation(new):
            bare.sa.submit(sql)
            for _ in range(100):
                if bare.sa.out.finished:
                    break
                out += senders.send(old, refusable=True)
                bare.advance(0.5)
            assert bare.sa.out.finished, sql[:200]
            assert bare.sa.errors == [], (bare.sa.errors, sql[:300])
    return out


@pytest.mark.sampled(every=11)
@pytest.mark.parametrize("old", CHOICES, ids=lambda c: f"{c[0]}-{c[1]}")
def test_any_choice_of_key_and_recycle_becomes_any_other_without_losing_a_message(old):
    """Feature versions: the change leaves the catalog of a fresh installation.

    Every ordered pair with --full, else every other new choice, others for the next old one.
    """
    before = config_of(*old)
    bare = Bare.deployed(before)
    start = bare.instance.snapshot()
    for choice in CHOICES if full() else CHOICES[CHOICES.index(old) % 2 :: 2]:
        if choice == old:
            continue
        after = config_of(*choice)
        senders = Senders(bare)
        senders.send(before)
        bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
        senders.send(before)
        senders.send(before)
        bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
        kept_out = change(bare, senders, before, after)
        # A dialog for each message has its EndOfStream already: nothing to wait for.
        assert kept_out > 0 or before.traits.per_message, "nobody met the gate"
        assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]
        senders.send(after)
        senders.check()
        assert catalog.difference(fresh_catalog(after), bare.catalog()) == []
        start.restore()


@pytest.fixture
def bare() -> Bare:
    return Bare.deployed(AUDIT)


APPLICATION = config_of(Key("application"), Recycle.TIMER)


def test_numbers_alone_drain_nothing(bare):
    senders = Senders(bare)
    senders.send(AUDIT)
    rows = bare.rows("SELECT * FROM audit.SessionConversations;")
    numbers = another(
        AUDIT,
        timer={"after_seconds": 7200},
        target={"readers": 3, "receive_batch": 9},
        conversation={"lifetime_seconds": 90_000, "encryption": True},
    )
    assert change(bare, senders, AUDIT, numbers) == 0
    assert bare.rows("SELECT * FROM audit.SessionConversations;") == rows
    senders.send(numbers)
    senders.check()


def test_a_drain_that_does_not_finish_opens_the_gate_and_changes_nothing(bare):
    senders = Senders(bare)
    senders.send(AUDIT)
    before = bare.catalog()
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    off = bare.catalog()
    assert bare.stops(installation(APPLICATION)) == 50190
    assert catalog.difference(off, bare.catalog()) == []
    assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]
    senders.send(AUDIT)
    bare.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    assert catalog.difference(before, bare.catalog()) == []
    change(bare, senders, AUDIT, APPLICATION)
    senders.send(APPLICATION)
    senders.check()


def test_a_sender_in_a_long_transaction_is_waited_for_and_then_named(bare):
    client = Client(bare)
    client.execute("BEGIN TRANSACTION; " + call(AUDIT, "0x01"))
    assert bare.stops(installation(APPLICATION)) == 50190
    client.execute(call(AUDIT, "0x02") + " COMMIT;")
    bare.deploy(APPLICATION)
    assert bare.bodies() == [b"\x01", b"\x02"]


def test_a_first_send_not_yet_committed_is_not_overlooked_under_row_versions():
    bare = Bare()
    bare.sa.execute("ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT ON;")
    bare.deploy(AUDIT)
    client = Client(bare)
    client.execute("BEGIN TRANSACTION; " + call(AUDIT, "0x01"))
    assert bare.stops(installation(APPLICATION)) == 50190
    client.execute("COMMIT;")
    bare.deploy(APPLICATION)
    assert bare.bodies() == [b"\x01"]


STATE = (
    "SELECT g.IsOpen, @@LOCK_TIMEOUT, (SELECT COUNT(*) FROM audit.Setting AS st "
    "WHERE st.Name = N'deployment.gate') FROM audit.Gate AS g;"
)


def test_any_error_in_the_drain_opens_the_gate_again_and_leaves_the_deployers_lock_timeout(bare):
    """A deadlock, say: nothing has been replaced by then."""
    senders = Senders(bare)
    senders.send(AUDIT)
    whole = bare.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_RecycleConversation'));")
    bare.sa.execute(
        "ALTER PROCEDURE audit.usp_RecycleConversation @handle uniqueidentifier, "
        "@sendEndOfStream bit AS /* Redial 0, configuration audit */ "
        "THROW 51205, N'You are the victim.', 1;"
    )
    bare.sa.execute("SET LOCK_TIMEOUT 1234;")
    assert bare.stops(installation(APPLICATION)) == 51205
    assert bare.rows(STATE) == [(True, 1234, 0)]
    bare.sa.execute(whole[0][0].replace("CREATE ", "CREATE OR ALTER ", 1))
    senders.send(AUDIT)
    change(bare, senders, AUDIT, APPLICATION)
    assert bare.rows(STATE) == [(True, 1234, 0)]
    senders.send(APPLICATION)
    senders.check()


def test_the_gate_is_opened_before_its_mark_is_taken_away(bare):
    """usp_OpenGate has the gate's row and then asks for the mark: the other order can deadlock."""
    bare.sa.execute(
        "UPDATE audit.Gate SET IsOpen = 0; "
        "INSERT INTO audit.Setting (Name, Value) VALUES (N'deployment.gate', N'drained');"
    )
    (opens,) = [sql for sql in installation(AUDIT) if "deployment finished" in sql]
    operator = Client(bare)
    operator.execute("BEGIN TRANSACTION; UPDATE audit.Gate SET Reason = N'mine';")
    bare.sa.submit(opens)
    bare.advance(1)
    assert not bare.sa.out.finished
    mark = "SELECT st.Name FROM audit.Setting AS st WHERE st.Name = N'deployment.gate';"
    assert operator.execute(mark) == [("deployment.gate",)]
    operator.execute("COMMIT;")
    bare.settle()
    assert bare.sa.out.finished and bare.rows(mark) == []
    (reopens,) = [sql for sql in installation(AUDIT) if "PROCEDURE [audit].[usp_ReopenGate]" in sql]
    assert reopens.index("SET IsOpen = 1") < reopens.index("DELETE FROM [audit].[Setting]")


def test_every_choice_that_differs_is_named(bare):
    other = another(APPLICATION, services={"target": "//other/target"})
    drains = next(sql for sql in installation(other) if "Changing with a drain" in sql)
    bare.attempt(drains)
    (told,) = [m.text for m in bare.sa.out.messages if "with a drain" in m.text]
    assert told.endswith(
        "conversation.key spid -> application; "
        "services.target //redial/audit/target -> //other/target; "
    )


def test_a_gate_an_operator_closed_stays_closed(bare):
    bare.sa.execute("UPDATE audit.Gate SET IsOpen = 0, Reason = N'month end';")
    bare.deploy(APPLICATION)
    assert bare.rows("SELECT IsOpen, Reason FROM audit.Gate;") == [(False, "month end")]


@pytest.mark.parametrize("then", [AUDIT, APPLICATION], ids=["the old choice", "the new choice"])
def test_a_change_killed_after_any_batch_is_finished_by_a_deployment_of_either_choice(bare, then):
    """The gate stays closed in between, so nothing can be sent that nobody reads."""
    senders = Senders(bare)
    senders.send(AUDIT)
    wanted = fresh_catalog(then)
    batches = installation(APPLICATION)
    first = next(i for i, sql in enumerate(batches) if "Changing with a drain" in sql)
    last = next(i for i, sql in enumerate(batches) if "deployment finished" in sql)
    bare.run(batches[:first])
    for count in range(first, len(batches), STRIDE):
        bare.run(batches[count : count + STRIDE])
        state = bare.instance.snapshot()
        if count + STRIDE <= last:
            assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(False,)]
        bare.deploy(then)
        assert catalog.difference(wanted, bare.catalog()) == [], batches[count][:100]
        assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]
        state.restore()


def test_a_gate_a_deployment_has_closed_is_opened_by_a_deployment_only(bare):
    """Procedures of two choices may be mixed behind it."""
    batches = installation(APPLICATION)
    first = next(i for i, sql in enumerate(batches) if "Changing with a drain" in sql)
    bare.run(batches[: first + 1])
    assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(False,)]
    assert bare.sa.fail("EXECUTE audit.usp_OpenGate @reason = N'it is night';") == 50162
    bare.sa.execute(
        "BEGIN TRY EXECUTE audit.usp_OpenGate @reason = N'x'; END TRY "
        "BEGIN CATCH IF @@TRANCOUNT <> 0 THROW 60001, N'left open', 1; END CATCH;"
    )
    assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(False,)]
    ((advice,),) = [
        row[4:5]
        for row in bare.rows("EXECUTE audit.usp_Health;")
        if row[7] == "deployment-unfinished"
    ]
    assert "deploying again opens it" in advice
    bare.deploy(APPLICATION)
    assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]


def test_services_and_queues_of_an_earlier_choice_go(bare):
    renamed = another(
        AUDIT,
        services={"initiator": "//other/initiator", "target": "//other/target"},
        queues={"initiator": "OtherInitiator", "target": "OtherTarget"},
    )
    senders = Senders(bare)
    senders.send(AUDIT)
    bare.deploy(renamed)
    senders.send(renamed)
    senders.check()
    assert catalog.difference(fresh_catalog(renamed), bare.catalog()) == []


def test_another_module_user_is_refused(bare):
    assert bare.stops(installation(another(AUDIT, roles={"module": "somebody"}))) == 50195


def test_a_table_of_an_earlier_choice_stays_while_it_has_rows(bare):
    bare.sa.execute(
        "CREATE TABLE audit.Inbox (MessageId uniqueidentifier NOT NULL PRIMARY KEY, "
        "ReceivedUtc datetime2(3) NOT NULL, Repeats int NOT NULL);"
        "INSERT INTO audit.Inbox VALUES (NEWID(), SYSUTCDATETIME(), 0);"
        "EXECUTE sys.sp_addextendedproperty N'Redial.made', N'audit', "
        "N'SCHEMA', N'audit', N'TABLE', N'Inbox';"  # as the earlier choice's script does
    )
    bare.deploy(AUDIT)
    assert bare.rows("SELECT COUNT(*) FROM audit.Inbox;") == [(1,)]
    bare.sa.execute("DELETE FROM audit.Inbox;")
    bare.deploy(AUDIT)
    assert bare.rows("SELECT OBJECT_ID(N'audit.Inbox');") == [(None,)]


def test_what_an_earlier_choice_installed_and_this_one_does_not_is_dropped(bare):
    single = "EXECUTE(N'CREATE PROCEDURE audit.usp_EndLeaked_of_mine AS RETURN 0;');"
    bare.sa.execute(single)
    bare.sa.execute("EXECUTE(N'CREATE VIEW audit.Mine AS SELECT 1 AS One;');")
    before = bare.catalog()
    bare.deploy(AUDIT)
    assert catalog.difference(before, bare.catalog()) == []  # not ours: stays


def test_a_second_deployment_changes_nothing_and_alters_no_queue(bare):
    """B.1: twice is harmless; ALTER QUEUE waits for every reader (F-130)."""
    Senders(bare).send(AUDIT)
    bare.advance(100)
    dates = "SELECT name, modify_date FROM sys.objects WHERE type = 'SQ' ORDER BY name;"
    before = bare.catalog(), bare.data("audit"), bare.rows(dates)
    bare.deploy(AUDIT)
    assert (bare.catalog(), bare.data("audit"), bare.rows(dates)) == before
