"""usp_StartQueue: an operator starts what is off, as the configuration says, and nothing else."""

from __future__ import annotations

import pytest

from redial.config import load
from redial.paths import CONFIGS

from .bare import Bare
from .lab import Client, Lab, send

OPS = "CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops;"
START = "EXECUTE audit.usp_StartQueue @reason = N'mended', @WhatIf = 0"
STATE = (
    "SELECT is_receive_enabled, is_activation_enabled, max_readers, is_retention_enabled, "
    "is_poison_message_handling_enabled, USER_NAME(execute_as_principal_id), activation_procedure "
    "FROM sys.service_queues WHERE object_id = OBJECT_ID(N'audit.TargetQueue', N'SQ');"
)


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.sa.execute(OPS)
    return lab


def as_operator(lab: Lab, sql: str) -> list[tuple]:
    return lab.rows(f"EXECUTE AS USER = N'ops'; {sql}; REVERT;")


@pytest.mark.parametrize(
    "wrong",
    [
        "STATUS = OFF",
        "RETENTION = ON",
        "POISON_MESSAGE_HANDLING (STATUS = OFF)",
        "ACTIVATION (STATUS = OFF)",
        "ACTIVATION (MAX_QUEUE_READERS = 7)",
        "ACTIVATION (EXECUTE AS N'dbo')",
        "ACTIVATION (DROP)",
    ],
)
def test_whatever_differs_is_set_as_the_configuration_says(lab, wrong):
    before = lab.rows(STATE)
    lab.sa.execute(f"ALTER QUEUE audit.TargetQueue WITH {wrong};")
    assert lab.rows(STATE) != before
    shown = {row[0]: row[2] for row in as_operator(lab, "EXECUTE audit.usp_StartQueue")}
    assert shown == {"InitiatorQueue": "nothing to do", "TargetQueue": "would be done"}
    assert lab.rows(STATE) != before, "it only shows by default"
    done = {row[0]: row[2] for row in as_operator(lab, START)}
    assert done == {"InitiatorQueue": "nothing to do", "TargetQueue": "done"}
    assert lab.rows(STATE) == before
    log = lab.rows("SELECT Action, Detail, Reason FROM audit.OperatorLog;")
    assert log == [("start queue", "TargetQueue", "mended")]


def test_messages_that_waited_arrive(lab):
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    Client(lab).execute(send("0x01"))
    as_operator(lab, START)
    lab.advance(10)
    assert lab.bodies() == [b"\x01"]


def test_one_queue_by_its_name(lab):
    for queue in ("TargetQueue", "InitiatorQueue"):
        lab.sa.execute(f"ALTER QUEUE audit.{queue} WITH STATUS = OFF;")
    ((queue, figure, outcome),) = as_operator(lab, START + ", @queue = N'InitiatorQueue'")
    assert (queue, outcome) == ("InitiatorQueue", "done") and "queue OFF" in figure
    assert lab.rows(STATE)[0][0] == 0


def test_a_reader_at_work_is_waited_for_a_bounded_time_and_nobody_waits_long_behind_it(lab):
    """ALTER QUEUE queues before later readers and senders: it tries for two seconds at a time."""
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    Client(lab).execute(send("0x01"))
    reader, operator, sender = Client(lab), Client(lab), Client(lab)
    reader.execute("BEGIN TRANSACTION; RECEIVE TOP (1) message_body FROM audit.TargetQueue;")
    operator.submit(
        "DECLARE @r int; EXECUTE @r = audit.usp_StartQueue @reason = N'x', "
        "@waitSeconds = 6, @WhatIf = 0; SELECT @r;"
    )
    sender.submit(send("0x02"))
    lab.advance(2.2)
    assert sender.out.finished and not operator.out.finished
    lab.advance(8)
    assert operator.out.finished and operator.errors == []
    assert operator.out.result_sets[1].rows == [(1,)]
    outcomes = {row[0]: row[2] for row in operator.out.result_sets[0].rows}
    assert outcomes["TargetQueue"].startswith("not done: readers or senders were at work")
    reader.execute("COMMIT;")
    assert {row[2] for row in as_operator(lab, START)} == {"done", "nothing to do"}


def test_what_fails_is_said(lab):
    lab.sa.execute("DROP PROCEDURE audit.usp_TargetActivation;")
    outcomes = {row[0]: row[2] for row in as_operator(lab, START)}
    assert outcomes["TargetQueue"].startswith("failed: ")
    assert outcomes["InitiatorQueue"] == "nothing to do"


def test_wrong_inputs_are_named_together_and_a_sender_may_not(lab):
    assert (
        lab.sa.fail("EXECUTE audit.usp_StartQueue N'x', @waitSeconds = -1, @WhatIf = 0;") == 50270
    )
    text = lab.sa.errors[0].text
    assert all(word in text for word in ("@queue", "@waitSeconds", "@reason", "InitiatorQueue"))
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_StartQueue;") == 50271
    lab.sa.execute(
        "ROLLBACK; CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;"
    )
    assert lab.sa.fail("EXECUTE AS USER = N'app'; EXECUTE audit.usp_StartQueue;") == 229


@pytest.mark.parametrize("name", ["audit", "etl", "logging", "orders"])
def test_with_every_shipped_configuration_both_queues_start_and_health_is_quiet(name):
    config = load(CONFIGS / f"{name}.toml")
    bare = Bare.deployed(config)
    own = config.schema_name
    bare.run(
        [
            f"CREATE USER ops WITHOUT LOGIN; ALTER ROLE [{config.roles.operator}] ADD MEMBER ops;",
            *(
                f"ALTER QUEUE [{own}].[{queue}] WITH STATUS = OFF, RETENTION = ON;"
                for queue in (config.queues.initiator, config.queues.target)
            ),
        ]
    )
    report = bare.rows(f"EXECUTE [{own}].usp_Health;")
    statements = {row[5] for row in report if row[1] == "queue off"}
    assert len(statements) == 2
    for statement in statements:
        bare.run([f"EXECUTE AS USER = N'ops'; {statement} REVERT;"])
    assert min(row[0] for row in bare.rows(f"EXECUTE [{own}].usp_Health;")) >= 150
