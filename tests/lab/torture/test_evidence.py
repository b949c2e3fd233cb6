"""What is found on a server: each message by its name, each dialog by its target's handle."""

from __future__ import annotations

from redial_lab.torture.what_landed import collect
from tests.product.sql.lab import AUDIT, USER, Lab

LAND = (
    "INSERT INTO audit.Landing (ConversationId, ConversationHandle, MessageSequence, MessageType, "
    "Body) VALUES ({}, '{}', {}, N'//redial/audit/event', CAST('{};' AS varbinary(max)));"
)
IDS = ["00000000-0000-0000-0000-00000000000" + digit for digit in "1234"]


def test_dialogs_whose_endpoint_was_gone_before_their_rows_landed_are_told_apart():
    """Both have no id: they were one dialog, whose numbers came twice and in no order."""
    lab = Lab(AUDIT)
    for id_, handle, sequence, name in (
        ("NULL", IDS[0], 0, "1.1.0"),
        ("NULL", IDS[1], 0, "2.1.0"),
        (f"'{IDS[3]}'", IDS[2], 0, "3.1.0"),
        (f"'{IDS[3]}'", IDS[2], 1, "3.1.1"),
    ):
        lab.rows(LAND.format(id_, handle, sequence, name))
    found = collect(AUDIT, lambda sql, database: lab.rows(sql), USER)
    assert {row.name: row.conversation for row in found.landed} == {
        (1, 1, 0): IDS[0],
        (2, 1, 0): IDS[1],
        (3, 1, 0): IDS[2],
        (3, 1, 1): IDS[2],
    }
