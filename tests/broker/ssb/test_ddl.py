"""Definitions: what refers to what, what may be dropped, what a drop does to conversations."""

import pytest

from redial_broker.engine.errors import SqlError
from redial_broker.ssb import names, routes
from tests.broker.ssb.world import XML, error_code
from tests.broker.ssb.world import ddl as define


@pytest.mark.parametrize(
    "statement, number",
    [
        ((define.create_message_type, "M"), 2714),
        ((define.create_contract, "C", [("M", 3)]), 2714),
        ((define.create_contract, "N", [("M", 3), ("M", 1)]), 8403),
        ((define.create_contract, "N", [("M", names.BY_TARGET)]), 8492),
        ((define.create_contract, "N", [("none such", 3)]), 15151),
        ((define.drop_message_type, "M"), 3716),
        ((define.drop_message_type, "none such"), 15151),
        ((define.drop_message_type, names.ERROR), 9663),
        ((define.alter_message_type, "DEFAULT", XML), 9663),
        ((define.drop_contract, "C"), 3716),
        ((define.drop_contract, "DEFAULT"), 9663),
        ((define.drop_service, "none such"), 15151),
        ((define.alter_service, "T", None, [], []), 8493),
        ((define.alter_service, "T", None, ["C"], []), 8404),
        ((routes.create_route, "r", None, "guid", None, "LOCAL"), 9662),
        ((routes.create_route, "r", "", None, None, "LOCAL"), 9659),
    ],
)
def test_what_is_refused(world, statement, number):
    with pytest.raises(SqlError) as caught:
        world.s.ddl(*statement)
    assert caught.value.number == number


def test_service_contracts_are_known_and_listed_once(world):
    queue = world.queues["TQ"]
    for contracts, number in ((["C", "C"], 8404), (["none such"], 15151)):
        with pytest.raises(SqlError) as caught:
            world.s.ddl(define.create_service, "new", queue, contracts)
        assert caught.value.number == number


def test_definitions_are_undone_by_rollback(world):
    world.s.begin()
    world.s.ddl(define.create_message_type, "temporary")
    world.s.rollback()
    assert "temporary" not in world.broker.message_types


def test_altered_validation_leaves_queued_messages_alone(world):
    handle = world.s.dialog()
    world.s.send(handle, b"no xml")
    world.s.ddl(define.alter_message_type, "M", XML)
    assert world.s.bodies() == [b"no xml"]
    world.s.send(handle, b"no xml")
    assert error_code(world.s.take("IQ")[0]) == -9615


def test_drop_service_tells_the_far_side(world):
    handle = world.s.dialog()
    world.s.send(handle)
    world.s.ddl(define.drop_service, "T")
    assert world.states(handle) == ("ER", None)
    assert error_code(world.s.take("IQ")[0]) == -8470
    assert world.s.take("TQ") == []


def test_drop_service_rolled_back(world):
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    world.s.begin()
    world.s.ddl(define.drop_service, "T")
    world.s.rollback()
    assert world.states(handle) == ("CO", "CO")
    assert world.s.bodies() == [b"x"] and world.s.take("IQ") == []


def test_drop_contract_ends_its_conversations_with_an_error(world):
    world.s.ddl(define.create_contract, "loose", [("M", 3)])
    world.s.ddl(define.alter_service, "T", None, ["loose"], [])
    handle = world.s.dialog(contract="loose")
    world.s.send(handle)
    world.s.ddl(define.alter_service, "T", None, [], ["loose"])
    world.s.ddl(define.drop_contract, "loose")
    assert world.states(handle) == ("ER", "ER")
    assert error_code(world.s.take("IQ")[0]) == -8487


def test_alter_service_moves_its_messages(world):
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    world.queues["other"] = world.new_queue(world.broker, "other")
    world.s.begin()
    world.s.ddl(define.alter_service, "T", world.queues["other"], [], [])
    world.s.rollback()
    assert world.s.take("other") == []
    world.s.ddl(define.alter_service, "T", world.queues["other"], [], [])
    assert world.s.take("TQ") == []
    assert world.s.bodies("other") == [b"x"]


def test_a_moved_services_messages_come_back_with_the_rollback(world):
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    world.queues["other"] = world.new_queue(world.broker, "other")
    world.s.begin()
    world.s.ddl(define.alter_service, "T", world.queues["other"], [], [])
    world.s.rollback()
    assert world.s.bodies("TQ") == [b"x"]


@pytest.mark.parametrize(
    "criteria, level",
    [
        ((None, None, None), 1),
        (("C", None, None), 4),
        (("C", "I", None), 6),
        (("C", "I", "T"), 8),
        ((None, "I", "T"), 3),
        (("D", "I", "T"), 1),
    ],
)
def test_the_most_specific_priority_wins(world, criteria, level):
    world.s.ddl(define.create_priority, "any", None, None, None, 1)
    if criteria != (None, None, None):
        world.s.ddl(define.create_priority, "p", *criteria, level if criteria[0] != "D" else 9)
    handle = world.s.dialog()
    assert world.broker.endpoints[handle].priority == level


def test_a_priority_is_fixed_when_the_endpoint_is_made(world):
    handle = world.s.dialog()
    world.s.ddl(define.create_priority, "p", None, None, None, 9)
    world.s.ddl(define.alter_priority, "p", level=10)
    world.s.ddl(define.drop_priority, "p")
    assert world.broker.endpoints[handle].priority == 5


def test_what_a_priority_names_stays(world):
    world.s.ddl(define.create_priority, "p", "D", "T", None, 9)
    world.s.ddl(define.alter_service, "T", None, [], ["D"])
    world.s.ddl(define.alter_service, "I", None, [], ["D"])
    for statement in ((define.drop_contract, "D"), (define.drop_service, "T")):
        with pytest.raises(SqlError) as caught:
            world.s.ddl(*statement)
        assert caught.value.number == 3716


def test_a_template_is_copied_without_conversations(world):
    world.s.send(world.s.dialog())
    world.set_queue("TQ", retention=True)
    twin = world.new_database("copy")
    twin.objects = dict(world.database.objects)
    broker = world.broker.copy(twin)
    assert broker.guid != world.broker.guid and broker.endpoints == {}
    queue = broker.services["T"].queue
    assert queue is twin.objects["dbo", "tq"] and queue is not world.queues["TQ"]
    assert queue.retention and not queue.ready
