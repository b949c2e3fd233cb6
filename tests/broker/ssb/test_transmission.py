"""The transmission queue: why messages wait there, when they leave, what an END does to them."""

import pytest

from redial_broker.ssb import names, routes
from tests.broker.ssb.world import World, ddl, error_code, options


def test_queue_off_and_on_again(world):
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    world.set_queue("TQ", enabled=False)
    world.s.send(handle, b"2")
    world.s.send(handle, b"3")
    assert world.pending(handle) == [b"2", b"3"]
    assert world.status(handle) == 'The service queue "TQ" is currently disabled.'
    world.set_queue("TQ", enabled=True)
    assert world.pending(handle) == [] and world.status(handle) == ""
    assert world.s.bodies() == [b"1", b"2", b"3"]


def test_by_switch_end_drops_what_is_pending_and_its_own_row_is_received_all_the_same():
    world = World(end_keeps_pending=False)
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    world.set_queue("TQ", enabled=False)
    world.s.send(handle, b"2")
    world.s.send(handle, b"3")
    world.s.end(handle)
    world.set_queue("TQ", enabled=True)
    taken = world.s.take("TQ", top=100)
    assert [row[1] for row in taken][-1] == names.END_DIALOG
    assert len(taken) == 2


def test_by_switch_the_status_is_the_documentations():
    world = World(target_queue_off_status="documentation")
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog()
    world.s.send(handle)
    assert world.status(handle) == "Target queue is disabled."


def test_by_switch_delivery_is_tried_again_after_a_delay():
    world = World(retry_delay_s=4)
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    world.set_queue("TQ", enabled=True)
    assert world.pending(handle) == [b"x"]
    world.advance(4)
    assert world.s.bodies() == [b"x"]


def test_a_missing_service_and_its_creation(world):
    handle = world.s.dialog(to_service="later")
    world.s.send(handle, b"x")
    assert world.status(handle).startswith("The target service name matched a LOCAL route")
    world.s.ddl(ddl.create_service, "later", world.queues["TQ"], ["C"])
    assert world.s.bodies() == [b"x"]


def test_a_disabled_broker_holds_what_is_sent(world):
    handle = world.s.dialog()
    options.disable(world.broker)
    world.s.send(handle, b"x")
    assert world.status(handle) == "The broker is disabled in the sender's database."
    options.enable(world.broker)
    assert world.s.bodies() == [b"x"]


def test_without_a_route_nothing_leaves(world):
    world.s.ddl(routes.drop_route, "AutoCreatedLocal")
    handle = world.s.dialog()
    world.s.send(handle)
    assert world.status(handle).startswith("No route matches the destination service name")
    world.s.ddl(routes.create_route, "again", None, None, None, "LOCAL")
    assert world.pending(handle) == []


def test_an_unknown_broker_instance_waits(world):
    handle = world.s.dialog(broker_instance="11111111-2222-4333-8444-555555555555")
    world.s.send(handle)
    assert (
        world.status(handle) == "Could not find the target broker in the local SQL Server instance."
    )


def test_uncommitted_rows_wait_for_their_commit(world):
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog()
    sender = world.session().begin()
    sender.send(handle, b"x")
    world.set_queue("TQ", enabled=True)
    assert world.s.take() == []
    sender.commit()
    assert world.s.bodies() == [b"x"]


def test_rolled_back_rows_never_arrive(world):
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog()
    world.s.begin().send(handle, b"x")
    world.s.rollback()
    world.set_queue("TQ", enabled=True)
    assert world.s.take() == [] and world.state(handle) == "SO"


def test_a_plain_end_lets_pending_rows_go_first(world):
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog()
    world.s.send(handle, b"x")
    world.s.end(handle)
    assert world.states(handle) == ("DO", None)
    world.set_queue("TQ", enabled=True)
    assert [row[1] for row in world.s.take()] == ["M", names.END_DIALOG]
    assert world.states(handle) == (None, "DI")


def test_end_with_error_drops_pending_rows(world):
    handle = world.s.dialog()
    world.s.send(handle, b"1")
    world.set_queue("TQ", enabled=False)
    world.s.send(handle, b"2")
    world.s.end_error(handle)
    assert world.state(handle) == "DO"
    world.set_queue("TQ", enabled=True)
    assert [row[1] for row in world.s.take()] == [names.ERROR, "M"]
    assert world.state(handle) is None


def test_the_window_for_a_resend_after_the_lifetime(world):
    """Seed 004: target off, messages pending, lifetime reached, then END drops what is pending."""
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog(lifetime=60)
    bodies = [None, b"\x00", b"x" * 1000]
    for body in bodies:
        world.s.send(handle, body)
    world.advance(60)
    assert [error_code(row) for row in world.s.take("IQ")] == [-8489]
    assert world.pending(handle) == bodies
    world.set_queue("TQ", enabled=True)
    assert world.pending(handle) == bodies, "held until the application ends the conversation"
    assert "error message" in world.status(handle)
    world.s.begin().end(handle)
    assert world.pending(handle) == []
    world.s.rollback()
    assert world.pending(handle) == bodies
    world.s.end(handle)
    assert world.state(handle) is None and world.s.take() == []


def test_a_target_made_by_a_late_delivery_reaches_its_lifetime_too(world):
    """Found by scenario resend-under-load: delivered when the queue was on again, never armed."""
    world.set_queue("TQ", enabled=False)
    handle = world.s.dialog(lifetime=60)
    world.s.send(handle)
    world.set_queue("TQ", enabled=True)
    assert len(world.s.take()) == 1
    world.advance(60)
    assert [error_code(row) for row in world.s.take()] == [-8489]


def test_a_dead_letter_in_do_ends_with_the_lifetime(world):
    handle = world.s.dialog(to_service="nowhere", lifetime=60)
    world.s.send(handle)
    world.s.end(handle)
    assert world.state(handle) == "DO"
    world.advance(60)
    assert world.state(handle) is None


def test_a_busy_target_queue_by_switch():
    world = World(send_behind_queue_ddl="transmits")
    handle = world.s.dialog()
    ddl_session = world.session().begin()
    world.engine.locks.acquire(ddl_session.work(), world.queues["TQ"].lock_key, "Sch-M")
    ddl.queue_changed(world.queues["TQ"], ddl_session.work())
    world.s.send(handle, b"x")
    assert world.status(handle) == "Target queue is busy; message(s) queued for delivery."
    ddl_session.rollback()
    assert world.s.bodies() == [b"x"]


def test_another_database_of_the_instance(world):
    other = world.new_database("stock").broker
    world.objects(other)
    setup = world.session()
    t = setup.work()
    ddl.create_service(other, t, "far", world.queues["TQ"], ["C"])
    setup.commit()
    handle = world.s.dialog(to_service="far", encryption=False)
    world.s.send(handle, b"over there")
    assert world.s.bodies("TQ") == [b"over there"]
    peer = other.endpoints[world.target(handle)]
    assert peer.broker is other and peer.far_broker == world.broker.guid


def test_encryption_between_databases_needs_master_keys(world):
    other = world.new_database("stock").broker
    world.objects(other)
    setup = world.session()
    ddl.create_service(other, setup.work(), "far", world.queues["TQ"], ["C"])
    setup.commit()
    handle = world.s.dialog(to_service="far")
    world.s.send(handle, b"x")
    assert "master key" in world.status(handle)


@pytest.mark.parametrize(
    "prepare, code",
    [
        (lambda w: w.s.ddl(ddl.alter_service, "T", None, [], ["C"]), -8408),
        (lambda w: setattr(w.broker, "may_send", lambda endpoint, service: False), -8494),
    ],
)
def test_refusals_of_the_target_come_back_as_errors(world, prepare, code):
    prepare(world)
    handle = world.s.dialog()
    world.s.send(handle)
    assert [error_code(row) for row in world.s.take("IQ")] == [code]
    assert world.states(handle) == ("ER", None)


def test_validation_happens_where_the_message_arrives(world):
    handle = world.s.dialog()
    world.s.send(handle, b"no xml", "X")
    (row,) = world.s.take("IQ")
    assert error_code(row) == -9615
    (row,) = world.s.take("TQ")
    assert error_code(row) == -9616  # F-366: its endpoint is there, and its reader ends it


@pytest.mark.parametrize(
    "type_name, body, arrives",
    [
        ("X", b"<a/>", True),
        ("X", "<a/>".encode("utf-16"), True),
        ("X", "<a/>".encode("utf-16-le"), True),
        ("X", None, True),
        ("X", b"<a>", False),
        ("E", None, True),
        ("E", b"x", False),
    ],
)
def test_bodies_that_pass_and_fail(world, type_name, body, arrives):
    handle = world.s.dialog()
    world.s.send(handle, body, type_name)
    assert (world.s.bodies("TQ") == [body]) is arrives
    assert bool(world.s.take("IQ")) is not arrives


def test_a_later_invalid_message_is_told_to_both_sides(world):
    handle = world.s.dialog()
    world.s.send(handle, b"fine")
    world.s.send(handle, b"x", "E")
    assert error_code(world.s.take("IQ")[0]) == -8430
    assert [row[1] for row in world.s.take("TQ")] == [names.ERROR, "M"]
