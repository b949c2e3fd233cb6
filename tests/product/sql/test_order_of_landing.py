"""Rows of one batch may get their rowversions in any order; nothing of ours minds (F-365)."""

import re

import pytest

from redial.operate.evidence import collect
from redial.paths import TEMPLATES

from .lab import Client, Lab, configured, send
from .test_usp_TargetActivation import pause, resume


@pytest.fixture(params=["in order", "reversed"])
def lab(request):
    lab = Lab(insert_rowversions=request.param)
    client = Client(lab)
    for numbers in ("012", "345"):
        pause(lab)
        for number in numbers:
            client.execute(send(f"0x0{number}"))
        resume(lab)
    lab.way = request.param
    return lab


def test_by_conversation_and_sequence_a_reader_has_the_order_sent(lab):
    rows = lab.rows("SELECT Body FROM audit.Landing ORDER BY ConversationId, MessageSequence;")
    assert [body for (body,) in rows] == [bytes([n]) for n in range(6)]
    by_version = [body[0] for body in lab.bodies()]
    assert by_version == ([0, 1, 2, 3, 4, 5] if lab.way == "in order" else [2, 1, 0, 5, 4, 3])


def test_a_mark_never_cuts_a_batch_so_no_reader_misses_a_row(lab):
    mark = lab.sa.value("MIN_ACTIVE_ROWVERSION()")
    ((below, above),) = lab.rows(
        f"SELECT SUM(CASE WHEN RowVersion < 0x{mark.hex()} THEN 1 ELSE 0 END), "
        f"SUM(CASE WHEN RowVersion >= 0x{mark.hex()} THEN 1 ELSE 0 END) FROM audit.Landing;"
    )
    assert (below, above) == (6, 0)


def test_the_purge_takes_whole_batches_all_the_same(lab):
    lab.sa.execute(
        "UPDATE audit.Landing SET LandedUtc = DATEADD(day, -40, LandedUtc) "
        "WHERE MessageSequence < 3;"
    )
    lab.sa.execute(
        "EXECUTE audit.usp_PurgeLanding @olderThanDays = 30, "
        "@upTo = 0x7FFFFFFFFFFFFFFF, @WhatIf = 0;"
    )
    rows = lab.rows("SELECT MessageSequence FROM audit.Landing ORDER BY MessageSequence;")
    assert {3, 4, 5} <= {number for (number,) in rows}


class Connection:
    """What ``collect`` asks of a connection, over the laboratory."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def cursor(self) -> "Connection":
        return self

    def execute(self, sql: str) -> "Connection":
        self.rows = self.lab.rows(sql)
        return self

    def fetchall(self) -> list[tuple]:
        return self.rows

    def close(self) -> None:
        """Nothing to close."""


def test_the_audits_evidence_is_in_the_order_sent_whatever_a_batch_did(lab):
    evidence = collect(Connection(lab), lab.config, lambda body: None)
    user = [row.sequence for row in evidence.landed if row.type in evidence.user_types]
    assert user == sorted(user)


@pytest.mark.parametrize(
    "template", ["30_tables/Landing.table", "78_operator/usp_AcknowledgeLanding.procedure"]
)
def test_readers_are_told_where_they_look(template):
    [path] = TEMPLATES.glob(f"*/{template}.sql.j2")
    text = path.read_text("utf-8")
    assert "F-365" in text and re.search(r"ConversationId(,| and) MessageSequence", text)


def test_by_key_the_numbers_of_the_key_are_the_order():
    lab = Lab(
        configured(conversation={"key": "application", "order": "key"}),
        insert_rowversions="reversed",
    )
    client = Client(lab)
    pause(lab)
    for number in range(3):
        client.execute(send(f"0x0{number}", key="N'a'"))
    resume(lab)
    rows = lab.rows(
        "SELECT Body FROM audit.Landing WHERE KeySequence IS NOT NULL "
        "ORDER BY ConversationKey, KeySequence;"
    )
    assert [body for (body,) in rows] == [b"\x00", b"\x01", b"\x02"]
