"""A deadlock report becomes one sentence: who holds what, who wants it, who was chosen."""

from __future__ import annotations

import pytest

from redial.operate.deadlocks import sentences

REPORT = """
<RingBufferTarget><event name="xml_deadlock_report"><data><value><deadlock>
 <victim-list><victimProcess id="p1" /></victim-list>
 <process-list>
  <process id="p1" spid="60"><executionStack>
   <frame procname="db.audit.usp_Send">SEND</frame><frame procname="adhoc">EXECUTE</frame>
  </executionStack></process>
  <process id="p2" spid="22"><executionStack>
   <frame procname="db.audit.usp_SenderActivation">DELETE</frame>
  </executionStack></process>
 </process-list>
 <resource-list>
  <metadatalock subresource="CONVERSATION_GROUP" mode="X">
   <owner-list><owner id="p2" mode="X" /></owner-list>
   <waiter-list><waiter id="p1" mode="X" requestType="wait" /></waiter-list>
  </metadatalock>
  <keylock objectname="db.audit.SessionConversations" indexname="PK" mode="U">
   <owner-list><owner id="p1" mode="U" /></owner-list>
   <waiter-list><waiter id="p2" mode="U" requestType="wait" /></waiter-list>
  </keylock>
 </resource-list>
</deadlock></value></data></event></RingBufferTarget>
"""


def test_the_sentence_names_resources_modes_modules_and_the_victim():
    assert sentences(REPORT, "audit") == [
        "CONVERSATION_GROUP: usp_SenderActivation (session 22) holds X, "
        "usp_Send (session 60) wants X; "
        "KEY of SessionConversations: usp_Send (session 60) holds U, "
        "usp_SenderActivation (session 22) wants U; victim: usp_Send (session 60)"
    ]


def test_with_optimized_locking_the_row_under_the_transactions_lock_is_named():
    """2025: what is held and waited for is a transaction (deadlocks guide, xactlock)."""
    key = '<keylock objectname="db.audit.SessionConversations" indexname="PK" mode="U">'
    assert key in REPORT
    xact = (
        '<xactlock xdesIdLow="980" xdesIdHigh="0" mode="X"><UnderlyingResource>'
        '<keylock objectname="db.audit.SessionConversations" /></UnderlyingResource>'
    )
    text = REPORT.replace(key, xact).replace("</keylock>", "</xactlock>")
    assert (
        "XACT of SessionConversations: usp_Send (session 60) holds U" in sentences(text, "audit")[0]
    )


def test_deadlocks_of_others_are_not_ours():
    assert sentences(REPORT, "sales") == []


@pytest.mark.parametrize("text", [None, "", "<RingBufferTarget>", "<RingBufferTarget />"])
def test_no_report_or_a_cut_one_is_no_error(text):
    assert sentences(text, "audit") == []


def test_a_report_with_nothing_known_in_it_still_reads():
    text = REPORT.replace('procname="adhoc"', "").replace("db.audit.SessionConversations", "")
    assert "KEY: usp_Send" in sentences(text, "audit")[0]
