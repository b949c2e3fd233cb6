"""Names of services, contracts and message types are compared byte for byte (F-376)."""

import pytest

from ..lab import Lab

FIRST = "SELECT COUNT(*) FROM sys.services WHERE name {}"


def made(**options: object) -> Lab:
    lab = Lab(**options)
    lab.run("CREATE QUEUE dbo.Q;")
    lab.run("CREATE MESSAGE TYPE [Mail] VALIDATION = NONE;")
    lab.run("CREATE CONTRACT [Post] ([Mail] SENT BY INITIATOR);")
    lab.run("CREATE SERVICE [Office] ON QUEUE dbo.Q ([Post]);")
    return lab


@pytest.mark.parametrize("collation, found", [("binary", 0), ("database", 1)])
def test_catalog_views_show_names_under_their_own_collation(collation, found):
    lab = made(switches={"broker_names": collation})
    assert lab.value(FIRST.format("= N'OFFICE'")) == found
    assert lab.value(FIRST.format("= N'Office'")) == 1
    assert lab.value(FIRST.format("COLLATE Latin1_General_BIN2 = N'OFFICE'")) == 0
    assert lab.value(FIRST.format("COLLATE DATABASE_DEFAULT = N'OFFICE'")) == 1


def test_services_whose_names_differ_by_case_are_two():
    lab = made()
    lab.run("CREATE SERVICE [OFFICE] ON QUEUE dbo.Q ([Post]);")
    assert lab.value(FIRST.format("COLLATE DATABASE_DEFAULT = N'office'")) == 2


def test_names_in_a_queue_are_compared_byte_for_byte():
    """The example of the page: AuditedMessageTypes joined under COLLATE Latin1_General_BIN."""
    lab = made()
    lab.run(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG CONVERSATION @h FROM SERVICE [Office] "
        "TO SERVICE N'Office' ON CONTRACT [Post] WITH ENCRYPTION = OFF; "
        "SEND ON CONVERSATION @h MESSAGE TYPE [Mail] (0x01);"
    )
    look = "SELECT COUNT(*) FROM dbo.Q AS q WHERE q.message_type_name = N'{}';"
    assert [lab.value(look.format(name)) for name in ("Mail", "MAIL")] == [1, 0]
    assert lab.rows(
        "RECEIVE CASE WHEN message_type_name = N'MAIL' THEN 1 ELSE 0 END AS same FROM dbo.Q;"
    ) == [(0,)]
