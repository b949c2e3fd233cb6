"""Seed 004's own procedure: a VARBINARY without a length cuts every body to one byte."""

from __future__ import annotations

import pytest

from .lab import BODIES, LIFETIME, Lab

# The article's procedure, statement for statement: the same parameters, the same variables, a
# cursor over the old conversation's rows, SEND with or without a body.
ARTICLE = """
CREATE PROCEDURE dbo.usp_ResendPending
    @oldConversation uniqueidentifier, @newConversation uniqueidentifier
AS
BEGIN
    DECLARE @mt sysname;
    DECLARE @body {type};
    DECLARE cursorPending CURSOR LOCAL FORWARD_ONLY READ_ONLY FOR
        SELECT message_type_name, message_body FROM sys.transmission_queue
        WHERE conversation_handle = @oldConversation ORDER BY message_sequence_number;
    OPEN cursorPending;
    FETCH NEXT FROM cursorPending INTO @mt, @body;
    WHILE @@FETCH_STATUS = 0
    BEGIN
        IF @body IS NOT NULL
        BEGIN
            SEND ON CONVERSATION @newConversation MESSAGE TYPE @mt (@body);
        END
        ELSE
        BEGIN
            SEND ON CONVERSATION @newConversation MESSAGE TYPE @mt;
        END;
        FETCH NEXT FROM cursorPending INTO @mt, @body;
    END;
    CLOSE cursorPending;
    DEALLOCATE cursorPending;
END
"""

RESEND = """
DECLARE @old uniqueidentifier = '{old}', @new uniqueidentifier;
BEGIN TRANSACTION;
BEGIN DIALOG CONVERSATION @new
    FROM SERVICE [//redial/audit/initiator] TO SERVICE N'//redial/audit/target'
    ON CONTRACT [//redial/audit/contract] WITH ENCRYPTION = OFF;
EXECUTE dbo.usp_ResendPending @old, @new;
END CONVERSATION @old;
COMMIT TRANSACTION;
"""


def resent_by_the_article(type_name: str) -> Lab:
    """Six messages pend on a failed dialog; the article's procedure resends them, then END. In the
    text of before there were copies, which would send what they keep again.
    """
    lab = Lab(mutant="queue_only")
    lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.target_queue("OFF")
    for body in BODIES:
        lab.send(body)
    lab.advance(LIFETIME)
    lab.run(ARTICLE.format(type=type_name))
    lab.run(RESEND.format(old=lab.handles(1)[0]))
    return lab


def test_as_published_it_cuts_every_body_to_its_first_byte():
    lab = resent_by_the_article("VARBINARY")
    assert [body for _, body in lab.pending()] == [body and body[:1] for body in BODIES]
    lab.target_queue("ON")
    assert lab.landed() == [body and body[:1] for body in BODIES]


def test_the_accounting_of_these_tests_catches_it():
    lab = resent_by_the_article("VARBINARY")
    missing = {body for body, count in lab.unaccounted(BODIES).items() if count > 0}
    assert missing == {body for body in BODIES if body and len(body) > 1}


@pytest.mark.parametrize("type_name", ["VARBINARY(MAX)"])
def test_with_a_length_the_same_procedure_is_byte_exact(type_name):
    lab = resent_by_the_article(type_name)
    assert lab.unaccounted(BODIES) == {}
    lab.target_queue("ON")
    assert lab.landed() == list(BODIES)
