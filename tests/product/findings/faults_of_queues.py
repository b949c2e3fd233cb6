"""Scenarios of queues, their readers, and who is told when one goes off."""

from __future__ import annotations

from tests.product.sql.lab import Lab, configured

from .scenario import Scenario, edited, sent, steps

TARGET = "ALTER QUEUE audit.TargetQueue WITH {};"
TOLD = configured(operations={"notify_queue_off": True})
MONITOR = (
    "SELECT 1 FROM sys.dm_broker_queue_monitors AS m "
    "WHERE m.queue_id = q.QueueId AND m.database_id = DB_ID()"
)
OTHER = "CREATE PROCEDURE audit.stub AS RETURN;"
PAGES = (
    "CREATE OR ALTER FUNCTION audit.ufn_QueuePages() RETURNS @pages TABLE (QueueName "
    "nvarchar(128) NOT NULL, Pages bigint NULL, FragmentationPercent float NULL) AS BEGIN "
    "INSERT INTO @pages VALUES (N'TargetQueue', {}, 98.5); RETURN; END;"
)
"""The embedded broker has no pages: what the server would say stands in for it."""


def stuck(lab: Lab) -> None:
    lab.sa.execute("EXECUTE(N'CREATE OR ALTER PROCEDURE audit.usp_TargetActivation AS RETURN;');")
    sent("0x02")(lab)


def hangs(lab: Lab) -> None:
    lab.sa.execute(
        "EXECUTE(N'CREATE OR ALTER PROCEDURE audit.usp_TargetActivation AS WAITFOR DELAY ''00:10:00'';');"
    )
    sent("0x02")(lab)


def reader_mended(lab: Lab) -> None:
    """The file of the procedure, as it was rendered."""
    from tests.installed import batches, rendered

    for name, text in rendered(lab.config).items():
        if "usp_TargetActivation.procedure" in name:
            for sql in batches(text):
                lab.sa.execute(sql)


SCENARIOS = {
    "queue-off": Scenario(TARGET.format("STATUS = OFF")),
    "queue-missing": Scenario(
        "DROP SERVICE [//redial/audit/target]; DROP QUEUE audit.TargetQueue;",
        also=frozenset({"service-not-ours"}),
    ),
    "activation-off": Scenario(TARGET.format("ACTIVATION (STATUS = OFF)")),
    "activation-procedure-missing": Scenario(
        TARGET.format("ACTIVATION (PROCEDURE_NAME = audit.gone, EXECUTE AS N'audit_module')"),
        switches={"missing_activation_procedure": "allow"},
    ),
    "activation-procedure-other": Scenario(
        steps(
            OTHER,
            TARGET.format("ACTIVATION (PROCEDURE_NAME = audit.stub, EXECUTE AS N'audit_module')"),
        )
    ),
    "queue-readers": Scenario(TARGET.format("ACTIVATION (MAX_QUEUE_READERS = 1)")),
    "queue-retention": Scenario(TARGET.format("RETENTION = ON")),
    "queue-poison-handling": Scenario(TARGET.format("POISON_MESSAGE_HANDLING (STATUS = OFF)")),
    "queue-long": Scenario(
        edited("ufn_Queues", "q.name, le.Messages,", "q.name, 100001,"),
        mend=edited("ufn_Queues", "q.name, 100001,", "q.name, le.Messages,"),
    ),
    "queue-out-of-order": Scenario(PAGES.format(50000), mend=PAGES.format(3)),
    "alarm-missing": Scenario(
        "DROP EVENT NOTIFICATION redial_audit_trouble ON QUEUE audit.TargetQueue;",
        config=TOLD,
    ),
    "alarm-unread": Scenario("ALTER QUEUE audit.TroubleQueue WITH STATUS = OFF;", config=TOLD),
    "alarm-without-conversation": Scenario(
        "DECLARE @h uniqueidentifier = (SELECT TOP (1) conversation_handle FROM sys.conversation_endpoints "
        "WHERE far_service = N'redial/audit/trouble'); END CONVERSATION @h WITH CLEANUP;",
        config=TOLD,
    ),
    "activation-stuck": Scenario(stuck, after=5, first=reader_mended),
    "reader-without-receive": Scenario(hangs, after=90, first=reader_mended),
    "monitor-missing": Scenario(
        # The stand-in has a monitor for each queue that is on.
        edited("vw_Findings", MONITOR, MONITOR + " AND m.state = N''none''"),
        mend=edited("vw_Findings", MONITOR + " AND m.state = N''none''", MONITOR),
    ),
    "readers-all-busy": Scenario(
        steps(hangs, edited("vw_Findings", "AND q.Messages > 10000", "AND q.Messages >= 0")),
        after=5,
        config=configured(target={"readers": 1}),
        mend=edited("vw_Findings", "AND q.Messages >= 0", "AND q.Messages > 10000"),
    ),
}
