"""[priority]: both endpoints of a conversation get the level, and RECEIVE takes higher ones first.

Feature priorities: by table (Rusanu), Apress chapter 10/07; here by the engine's own BROKER PRIORITY.
"""

from tests.installed import rendered, split

from .lab import Client, Lab, configured, send

LEVEL = "SELECT priority FROM sys.conversation_endpoints;"
PRIORITIES = "SELECT name, priority FROM sys.conversation_priorities ORDER BY name;"


def deploy(lab: Lab, config) -> None:
    for name, text in rendered(config).items():
        if name[:2].isdigit():
            for batch in split(text):
                lab.sa.execute(batch.sql)


def test_both_sides_of_a_conversation_have_the_level():
    lab = Lab(configured(priority={"level": 8}))
    Client(lab).execute(send("0x01"))
    assert lab.rows(LEVEL) == [(8,), (8,)]
    assert lab.rows(PRIORITIES) == [("redial/audit/initiator", 8), ("redial/audit/target", 8)]


def test_level_five_makes_none():
    lab = Lab()
    Client(lab).execute(send("0x01"))
    assert lab.rows(PRIORITIES) == []
    assert lab.rows(LEVEL) == [(5,), (5,)]


def test_another_level_counts_for_conversations_begun_from_then_on():
    lab = Lab(configured(priority={"level": 8}))
    Client(lab).execute(send("0x01"))
    deploy(lab, configured(priority={"level": 2}))
    Client(lab).execute(send("0x02"))
    assert sorted(lab.rows(LEVEL)) == [(2,), (2,), (8,), (8,)]
    deploy(lab, configured())
    assert lab.rows(PRIORITIES) == []
    assert lab.rows("SELECT 1 FROM audit.OwnedObject WHERE Kind = N'BROKER PRIORITY';") == []


def test_one_that_somebody_dropped_comes_back_with_the_next_deployment():
    """It is written down as ours already: 2627, each time, and verify said "redial deploy makes it so"."""
    config = configured(priority={"level": 8})
    lab = Lab(config)
    lab.sa.execute("DROP BROKER PRIORITY [redial/audit/target];")
    deploy(lab, config)
    assert lab.rows(PRIORITIES) == [("redial/audit/initiator", 8), ("redial/audit/target", 8)]
    deploy(lab, configured())
    assert lab.rows(PRIORITIES) == []


def test_a_higher_priority_is_received_first_whatever_came_first():
    """Feature priorities: Apress chapter 10; thread FRK#2187.

    A second pair on the same queue, without a level, sends first and is read last."""
    lab = Lab(configured(priority={"level": 9}))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    lab.sa.execute(
        "CREATE SERVICE [plain] ON QUEUE audit.TargetQueue ([//redial/audit/contract]);"
        "GRANT SEND ON SERVICE::[plain] TO audit_module;"
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'plain' ON CONTRACT [//redial/audit/contract] WITH ENCRYPTION = OFF; "
        "SEND ON CONVERSATION @h MESSAGE TYPE [//redial/audit/event] (0x05);"
    )
    lab.advance(10)
    Client(lab).execute(send("0x09"))
    receive = "RECEIVE TOP (1) message_body, priority FROM audit.TargetQueue;"
    assert lab.rows(receive) == [(b"\x09", 9)]
    assert lab.rows(receive) == [(b"\x05", 5)]


def test_health_tells_a_missing_priority_and_one_that_counts_in_the_queues_only():
    lab = Lab(configured(priority={"level": 9}))
    report = {finding: priority for priority, finding, *_ in lab.rows("EXECUTE audit.usp_Health;")}
    assert report["priority in the queues only"] == 150
    lab.sa.execute("DROP BROKER PRIORITY [redial/audit/target];")
    report = {finding: priority for priority, finding, *_ in lab.rows("EXECUTE audit.usp_Health;")}
    assert report["priority missing"] == 50


def test_uninstall_removes_them_before_the_services():
    config = configured(priority={"level": 9})
    lab = Lab(config)
    Client(lab).execute(send("0x01"))
    for batch in split(rendered(config)["uninstall.sql"]):
        lab.sa.submit(batch.sql)
        lab.advance(30)
        assert lab.sa.out.finished and not lab.sa.errors, lab.sa.errors
    assert lab.rows(PRIORITIES) == []
    assert lab.rows("SELECT 1 FROM sys.services WHERE name LIKE N'//redial/%';") == []
