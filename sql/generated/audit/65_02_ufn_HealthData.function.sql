SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [audit].[ufn_HealthData]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL
)
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Third part of usp_Health: dead letters, errors, poison, growth. Sizes come from sys.partitions,
   counts are bounded, and NOLOCK keeps it from waiting for whoever is just writing. */
BEGIN
    DECLARE @now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 10, N'dead letters unhandled', N'[audit].[DeadLetter]',
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N'at least ' ELSE N'' END, COUNT(*), N', first ', CONVERT(nvarchar(19), MIN(d.AddedUtc), 120), N' UTC'),
        N'See vw_DeadLetters for the reasons. Mend the cause, then usp_ReplayDeadLetter; what nobody needs: usp_PurgeDeadLetter.'
    FROM (SELECT TOP (10000) dl.AddedUtc FROM [audit].[DeadLetter] AS dl WITH (NOLOCK) WHERE dl.HandledUtc IS NULL) AS d
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 50, N'errors in the last hour', e.ProcedureName,
        CONCAT(COUNT(*), N', last ', CONVERT(nvarchar(19), MAX(e.AddedUtc), 120), N' UTC'),
        N'See vw_Errors for the texts.'
    FROM (SELECT TOP (10000) el.ProcedureName, el.AddedUtc FROM [audit].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId DESC) AS e
    WHERE e.AddedUtc > DATEADD(hour, -1, @now)
    GROUP BY e.ProcedureName;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 50, N'poison messages', N'[audit].[PoisonAttempt]', CONCAT(COUNT(*), N', most rollbacks ', MAX(pa.Attempts)),
        N'These rows made their transaction roll back and will be dead-lettered by the next reader: see vw_Errors. Five rollbacks in a row would switch the queue off.'
    FROM [audit].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.Attempts > 0               /* 0: the mark of a batch in a hook (F-163) */
    HAVING COUNT(*) > 0;

    /* ----------------------------------------------------------------------------------------- */
    /* Growth                                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT CASE WHEN q.Messages > 100000 THEN 50 ELSE 200 END, N'messages in a queue', q.QueueName, CONCAT(N'about ', q.Messages),
        CASE WHEN q.Messages > 100000 THEN N'Readers do not keep up, or none runs: see the readers below. One conversation feeds one reader only.'
             ELSE N'From sys.partitions, without reading the queue.' END
    FROM [audit].[ufn_Queues]() AS q;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 200, N'rows in a table', CONCAT(N'audit', N'.', o.name), CONCAT(N'about ', SUM(p.rows)),
        N'Kept by [retention]: landing 0, log 90, dead letters 0 days (0: for ever).'
    FROM sys.objects AS o
    INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id = 1
    WHERE o.object_id IN (OBJECT_ID(N'[audit].[Landing]', N'U'), OBJECT_ID(N'[audit].[ConversationLog]', N'U'),
        OBJECT_ID(N'[audit].[ErrorLog]', N'U'), OBJECT_ID(N'[audit].[DeadLetter]', N'U'))
    GROUP BY o.name;

    RETURN;
END;
GO
