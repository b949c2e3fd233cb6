SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthData]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* A part of usp_Health: dead letters, errors, poison, growth. Sizes come from sys.partitions, counts are bounded, and
   NOLOCK keeps it from waiting for whoever is just writing. */
BEGIN
    DECLARE @now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'dead letters unhandled', N'[logging].[DeadLetter]',
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N'at least ' ELSE N'' END, COUNT(*), N', first ', CONVERT(nvarchar(19), MIN(d.AddedUtc), 120), N' UTC'),
        N'See vw_DeadLetters for the reasons. Mend the cause, then replay them, a thousand at a time; what nobody needs: usp_PurgeDeadLetter.',
        CONCAT(N'EXECUTE [logging].[usp_ReplayDeadLetter] @deadLetterId = ', MIN(d.DeadLetterId), N', @toDeadLetterId = ',
            CASE WHEN MAX(d.DeadLetterId) - MIN(d.DeadLetterId) > 999 THEN MIN(d.DeadLetterId) + 999 ELSE MAX(d.DeadLetterId) END, N', @reason = N''usp_Health: mended'', @WhatIf = 0;')
    FROM (SELECT TOP (10000) dl.AddedUtc, dl.DeadLetterId FROM [logging].[DeadLetter] AS dl WITH (NOLOCK) WHERE dl.HandledUtc IS NULL ORDER BY dl.DeadLetterId) AS d
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'errors in the last hour', e.ProcedureName,
        CONCAT(COUNT(*), N', last ', CONVERT(nvarchar(19), MAX(e.AddedUtc), 120), N' UTC'),
        N'See vw_Errors for the texts.', NULL
    FROM (SELECT TOP (10000) el.ProcedureName, el.AddedUtc FROM [logging].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId DESC) AS e
    WHERE e.AddedUtc > DATEADD(hour, -1, @now)
    GROUP BY e.ProcedureName;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'poison messages', N'[logging].[PoisonAttempt]', CONCAT(COUNT(*), N', most rollbacks ', MAX(pa.Attempts)),
        N'These rows made their transaction roll back: see vw_Errors. At 1 whoever receives one next dead-letters it, and five rollbacks in a row would switch the queue off.', NULL
    FROM [logging].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.Attempts > 0               /* 0: the mark of a batch in a hook (F-163) */
    HAVING COUNT(*) > 0;

    /* Statements name these indexes: without one, disabled or under another name, they fail (308, 315). */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'index missing', CONCAT(N'logging', N'.', n.TableName), n.IndexName,
        N'Statements name this index, and fail without it (308): a send, a reader, or a purge. Whoever deploys gives the index its name back (sp_rename), enables it (REBUILD), or makes it as the rendered file of its table does.', NULL
    FROM (SELECT st.name AS TableName, CONCAT(N'PK_', st.name) AS IndexName
          FROM sys.tables AS st
          INNER JOIN sys.extended_properties AS ep
              ON ep.class = 1 AND ep.major_id = st.object_id AND ep.minor_id = 0 AND ep.name = N'Redial.made'
          WHERE st.schema_id = SCHEMA_ID(N'logging')
          UNION ALL
          SELECT v.TableName, v.IndexName
          FROM (VALUES (N'SessionConversations', N'UX_SessionConversations_Handle'), 
                       (N'Inbox', N'IX_Inbox_ReceivedUtc'), (N'ConversationLog', N'IX_ConversationLog_ConversationId')) AS v(TableName, IndexName)) AS n
    CROSS APPLY (SELECT OBJECT_ID(CONCAT(N'[logging]', N'.', QUOTENAME(n.TableName)), N'U') AS Id) AS t
    WHERE t.Id IS NOT NULL
      AND ISNULL(INDEXPROPERTY(t.Id, n.IndexName, 'IsDisabled'), 1) = 1;      /* NULL: there is none */

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 1, N'messages wait for the server', N'[logging].[Landing]', LEFT(CONCAT(COUNT(*), N' conversations; ', MIN(pa.ErrorNumber), N': ', MIN(pa.ErrorMessage)), 100),
        N'How the server is set up keeps them from landing, no message does. Nothing is lost. Mend it (7139: raise max text repl size; see vw_Errors): they land within a minute.', NULL
    FROM [logging].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.MessageSequence = -3
    HAVING COUNT(*) > 0;

    /* ----------------------------------------------------------------------------------------- */
    /* Growth                                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 200, N'rows in a table', CONCAT(N'logging', N'.', o.name), CONCAT(N'about ', SUM(p.rows)),
        N'Kept by [retention]: landing 30, log 30, dead letters 30 days (0: for ever).', NULL
    FROM sys.objects AS o
    INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id = 1
    WHERE o.object_id IN (OBJECT_ID(N'[logging].[Landing]', N'U'), OBJECT_ID(N'[logging].[ConversationLog]', N'U'),
        OBJECT_ID(N'[logging].[ErrorLog]', N'U'), OBJECT_ID(N'[logging].[DeadLetter]', N'U'))
    GROUP BY o.name;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'landed rows past their time', N'[logging].[Landing]', CONCAT(N'first ', CONVERT(nvarchar(19), la.LandedUtc, 120), N' UTC'),
        N'[retention] keeps 30 days: the purge job does not run.',
        N'EXECUTE [logging].[usp_PurgeLanding] @reason = N''usp_Health: past its time'', @WhatIf = 0;'
    /* Not the first alone: a clock that was ahead may have dated it. */
    FROM (SELECT MIN(x.LandedUtc) AS LandedUtc
          FROM (SELECT TOP (1000) y.LandedUtc FROM [logging].[Landing] AS y WITH (NOLOCK) WHERE y.LandedUtc <= @now ORDER BY y.RowVersion) AS x) AS la
    WHERE la.LandedUtc < DATEADD(day, -31, @now);

    RETURN;
END;
GO
