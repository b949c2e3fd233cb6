"""Two configurations in one database, and a stranger: maintenance of one waits for its own dialogs only.

With ``endpoint_reads_wait`` a plain read of the endpoints waits for everybody's open transaction: an
uninstall raised 50140 after it had dropped usp_Send, and a drain counted the dialogs of the other.
"""

from __future__ import annotations

import pytest

from redial.config import Config
from tests.choices import KEYS, TRAITS, usual_recycle

from .bare import Bare, another, installation, removal, second
from .lab import AUDIT, Client, send

OTHER = second()
DRAIN = (
    "DECLARE @r int; EXECUTE @r = audit.usp_Drain @reason = N'test', @waitSeconds = 20, "
    "@WhatIf = 0; SELECT @r;"
)


def of_second(body: str) -> str:
    """A call of the other configuration's usp_Send."""
    return (
        f"EXECUTE second.usp_Send N'//second/initiator', N'//second/target', "
        f"N'//redial/audit/contract', N'//redial/audit/event', {body};"
    )


def beside(config: Config = AUDIT) -> tuple[Bare, Client, Client]:
    """Both are installed and have sent; the other's sender and a stranger are in transactions."""
    bare = Bare(endpoint_reads_wait=True)
    bare.deploy(OTHER)
    bare.deploy(config)
    other, stranger = Client(bare), Client(bare)
    Client(bare).execute("" if config.traits.named else send("0x01"))
    bare.run(
        [
            "CREATE QUEUE dbo.Theirs; CREATE SERVICE [//theirs] ON QUEUE dbo.Theirs ([DEFAULT]);",
        ]
    )
    other.execute("BEGIN TRANSACTION;" + of_second("0x77"))
    stranger.execute(
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//theirs] "
        "TO SERVICE N'//theirs' ON CONTRACT [DEFAULT] WITH ENCRYPTION = OFF; "
        "SEND ON CONVERSATION @h (0x88);"
    )
    bare.advance(60)
    return bare, other, stranger


def check(bare: Bare, other: Client, stranger: Client) -> None:
    """Neither was waited for, and what they sent arrives."""
    for client in (other, stranger):
        assert client.value("@@TRANCOUNT") == 1
        client.execute("COMMIT;")
    bare.advance(5)
    assert bare.rows("SELECT Body FROM second.Landing;") == [(b"\x77",)]
    assert bare.rows("SELECT COUNT(*) FROM dbo.Theirs;") == [(1,)]


@pytest.mark.parametrize("key", [key for key in KEYS if not TRAITS[key].named])
def test_a_drain_neither_waits_for_strangers_nor_counts_them(key):
    recycle = usual_recycle(key)
    bare, other, stranger = beside(another(AUDIT, conversation={"key": key, "recycle": recycle}))
    operator = Client(bare)
    operator.submit(DRAIN)
    bare.advance(10)
    assert operator.out.finished and operator.errors == []
    report, ((value,),) = (found.rows for found in operator.out.result_sets)
    assert value == 0, report
    assert {o: f for o, f, _ in report}["endpoints open"] == 0
    check(bare, other, stranger)


def test_an_uninstall_and_a_purge_finish_beside_them():
    bare, other, stranger = beside()
    for sql in removal(AUDIT):
        assert bare.attempt(sql, 20) == [], bare.sa.errors
    assert bare.rows("SELECT SCHEMA_ID(N'audit');") == [(None,)]
    check(bare, other, stranger)


def test_a_change_of_choices_finishes_beside_them():
    bare, other, stranger = beside()
    changed = another(AUDIT, conversation={"key": "application"})
    for sql in installation(changed):
        assert bare.attempt(sql, 20) == [], (bare.sa.errors, sql[:200])
    assert bare.rows("SELECT IsOpen FROM audit.Gate;") == [(True,)]
    check(bare, other, stranger)


def test_what_leaked_of_ours_is_ended_and_nothing_of_theirs():
    bare, other, stranger = beside()
    bare.sa.execute("DELETE FROM audit.SessionConversations;")
    bare.sa.submit("EXECUTE audit.usp_EndLeaked @reason = N'x', @WhatIf = 0;")
    bare.advance(10)
    assert bare.sa.out.finished
    assert [row[-2:] for row in bare.sa.out.result_sets[-1].rows] == [("CLOSE", "done")]
    check(bare, other, stranger)


def test_who_is_in_the_way_of_one_is_nobody_of_the_other():
    """Only whoever holds something of the configuration is named."""
    bare, other, stranger = beside()
    mine = Client(bare)
    mine.execute("BEGIN TRANSACTION;" + send("0x02"))
    who = "DECLARE @who nvarchar(1500); EXECUTE {}.usp_InTheWay @who = @who OUTPUT; SELECT @who;"
    ((audit,),) = bare.rows(who.format("audit"))
    ((theirs,),) = bare.rows(who.format("second"))
    assert f"session {mine.session.id} " in audit and f"session {other.session.id} " in theirs
    assert audit.count("session ") == theirs.count("session ") == 1
    assert f"session {stranger.session.id} " not in audit + theirs
    mine.execute("ROLLBACK;")
    check(bare, other, stranger)
