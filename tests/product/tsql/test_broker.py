"""The conversation statements and broker definitions: every part lands in its field."""

import pytest

from redial.tsql import parse_batch
from redial.tsql.ast import Identifier, Literal, Node, Variable


def one(sql: str) -> Node:
    """The only statement of a batch."""
    (statement,) = parse_batch(sql).statements
    return statement


def text(node: Node | None) -> object:
    """A short form of a leaf."""
    match node:
        case Identifier(text=found):
            return found
        case Variable(name=found):
            return found
        case Literal(value=found):
            return found
    return node


def test_begin_dialog_in_full():
    dialog = one(
        "BEGIN DIALOG CONVERSATION @h FROM SERVICE [//a] TO SERVICE N'//b', N'CURRENT DATABASE' "
        "ON CONTRACT [//c] WITH RELATED_CONVERSATION_GROUP = @g, LIFETIME = 60, ENCRYPTION = OFF"
    )
    assert text(dialog.handle) == "@h"
    assert text(dialog.from_service) == "//a"
    assert dialog.from_service.quoted
    assert text(dialog.to_service) == "//b"
    assert text(dialog.broker_instance) == "CURRENT DATABASE"
    assert text(dialog.contract) == "//c"
    assert text(dialog.related_conversation_group) == "@g"
    assert dialog.related_conversation is None
    assert text(dialog.lifetime) == 60
    assert dialog.encryption is False


def test_begin_dialog_in_short_states_nothing():
    dialog = one("BEGIN DIALOG @h FROM SERVICE @a TO SERVICE @b")
    assert (text(dialog.from_service), text(dialog.to_service)) == ("@a", "@b")
    assert (dialog.contract, dialog.lifetime, dialog.encryption) == (None, None, None)


def test_send_with_one_handle_and_with_a_list():
    send = one("SEND ON CONVERSATION @h MESSAGE TYPE [//m] (@b)")
    assert ([text(h) for h in send.handles], send.in_list) == (["@h"], False)
    assert (text(send.message_type), text(send.body)) == ("//m", "@b")
    send = one("SEND ON CONVERSATION (@h, @i)")
    assert ([text(h) for h in send.handles], send.in_list) == (["@h", "@i"], True)
    assert (send.message_type, send.body) == (None, None)


def test_a_parenthesis_after_a_handle_is_the_body():
    send = one("SEND ON CONVERSATION @h (N'x')")
    assert (len(send.handles), text(send.body)) == (1, "x")


def test_receive_in_full():
    receive = one(
        "RECEIVE TOP (1) @h = conversation_handle, @b = CAST(message_body AS XML) "
        "FROM db.dbo.q WHERE conversation_group_id = @g"
    )
    assert text(receive.top.count) == 1
    assert [item.variable.name for item in receive.items] == ["@h", "@b"]
    assert receive.queue.parts == ("db", "dbo", "q")
    assert (receive.where_column, text(receive.where_value)) == ("CONVERSATION_GROUP_ID", "@g")
    receive = one("RECEIVE message_body AS b FROM q INTO @t")
    assert (receive.items[0].alias, text(receive.into), receive.where_column) == ("b", "@t", None)


def test_waitfor_around_receive_and_get():
    wait = one("WAITFOR (RECEIVE * FROM q), TIMEOUT @ms")
    assert (type(wait.statement).__name__, text(wait.timeout)) == ("Receive", "@ms")
    wait = one("WAITFOR (GET CONVERSATION GROUP @g FROM q)")
    assert (type(wait.statement).__name__, wait.timeout) == ("GetConversationGroup", None)


def test_the_ways_to_end_a_conversation():
    end = one("END CONVERSATION @h")
    assert (end.cleanup, end.error, end.description) == (False, None, None)
    assert one("END CONVERSATION @h WITH CLEANUP").cleanup
    end = one("END CONVERSATION @h WITH ERROR = 31472 DESCRIPTION = N'x'")
    assert (text(end.error), text(end.description)) == (31472, "x")


def test_end_conversation_does_not_close_a_block():
    block = one("BEGIN END CONVERSATION @h END")
    assert [type(s).__name__ for s in block.statements] == ["EndConversation"]


def test_timer_and_move():
    timer = one("BEGIN CONVERSATION TIMER (@h) TIMEOUT = 60")
    assert (text(timer.handle), text(timer.timeout)) == ("@h", 60)
    move = one("MOVE CONVERSATION @h TO @g")
    assert (text(move.handle), text(move.group)) == ("@h", "@g")


@pytest.mark.parametrize("verb", ["CREATE", "ALTER"])
def test_a_queue_states_only_what_is_written(verb):
    queue = one(
        f"{verb} QUEUE dbo.q WITH STATUS = ON, RETENTION = OFF, ACTIVATION (STATUS = ON, "
        "PROCEDURE_NAME = dbo.p, MAX_QUEUE_READERS = 3, EXECUTE AS OWNER), "
        "POISON_MESSAGE_HANDLING (STATUS = OFF)"
    )
    assert (queue.status, queue.retention, queue.poison_handling) == (True, False, False)
    activation = queue.activation
    assert (activation.status, activation.max_readers, activation.drop) == (True, 3, False)
    assert activation.procedure.parts == ("dbo", "p")
    assert text(activation.execute_as) == "OWNER"
    queue = one(f"{verb} QUEUE q WITH STATUS = OFF")
    assert (queue.status, queue.retention, queue.activation) == (False, None, None)


def test_activation_may_run_as_a_named_user_or_be_dropped():
    queue = one("ALTER QUEUE q WITH ACTIVATION (EXECUTE AS N'u')")
    assert text(queue.activation.execute_as) == "u"
    assert one("ALTER QUEUE q WITH ACTIVATION (DROP)").activation.drop


def test_contract_message_type_and_service():
    contract = one("CREATE CONTRACT [//c] (a SENT BY INITIATOR, [DEFAULT] SENT BY ANY)")
    assert [(text(m.message_type), m.sent_by) for m in contract.messages] == [
        ("a", "INITIATOR"),
        ("DEFAULT", "ANY"),
    ]
    kind = one("CREATE MESSAGE TYPE m VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.s")
    assert (kind.validation, kind.schema_collection.parts) == ("VALID_XML", ("dbo", "s"))
    assert one("CREATE MESSAGE TYPE m").validation is None
    service = one("CREATE SERVICE s AUTHORIZATION u ON QUEUE dbo.q (c1, [//c2])")
    assert (text(service.owner), [text(c) for c in service.contracts]) == ("u", ["c1", "//c2"])
    service = one("ALTER SERVICE s ON QUEUE q (ADD CONTRACT a, DROP CONTRACT b)")
    assert [(c.verb, text(c.contract)) for c in service.changes] == [("ADD", "a"), ("DROP", "b")]


def test_routes_bindings_priorities_and_notifications():
    route = one("CREATE ROUTE r WITH SERVICE_NAME = 's', ADDRESS = 'LOCAL', LIFETIME = 5")
    assert (text(route.service_name), text(route.address), text(route.lifetime)) == (
        "s",
        "LOCAL",
        5,
    )
    binding = one("CREATE REMOTE SERVICE BINDING b TO SERVICE 's' WITH USER = u, ANONYMOUS = ON")
    assert (text(binding.service), text(binding.user), binding.anonymous) == ("s", "u", True)
    priority = one(
        "CREATE BROKER PRIORITY p FOR CONVERSATION "
        "SET (CONTRACT_NAME = c, LOCAL_SERVICE_NAME = ANY, PRIORITY_LEVEL = 7)"
    )
    assert (text(priority.contract), priority.local_service, priority.level) == ("c", "ANY", 7)
    assert priority.remote_service is None
    event = one(
        "CREATE EVENT NOTIFICATION e ON QUEUE dbo.q FOR QUEUE_ACTIVATION TO SERVICE 's', 'x'"
    )
    assert (event.scope, event.queue.name, event.events) == ("QUEUE", "q", ["QUEUE_ACTIVATION"])
