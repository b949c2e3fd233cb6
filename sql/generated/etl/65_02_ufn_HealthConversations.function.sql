SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_HealthConversations]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL,
    Statement nvarchar(1000) NULL       /* what a member of the operator role can run about it; NULL: nothing */
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* A part of usp_Health: endpoints and dialogs. Every count is bounded. */
BEGIN
    DECLARE @states TABLE
    (
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        Endpoints int NOT NULL,
        Old int NOT NULL,               /* in use for longer than the configuration lets them */
        OldestSeconds bigint NULL,
        Ending int NOT NULL,            /* in use, and near the end of their lifetime */
        FirstEndUtc datetime NULL,
        PRIMARY KEY (IsInitiator, State)
    );

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Endpoints by state, and the ages of those in use, in one pass over the view              */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @states (IsInitiator, State, Endpoints, Old, OldestSeconds, Ending, FirstEndUtc)
    SELECT e.is_initiator, e.state_desc, COUNT(*),
        SUM(CASE WHEN e.AgeSeconds > 7800 THEN 1 ELSE 0 END), MAX(e.AgeSeconds),
        SUM(CASE WHEN e.EndUtc < DATEADD(second, 3690, GETUTCDATE()) THEN 1 ELSE 0 END), MIN(e.EndUtc)
    FROM (SELECT TOP (200000) ce.is_initiator, ce.state_desc,
              /* Of dialogs in use only, as in ufn_Conversations. */
              CASE WHEN sc.Handle IS NOT NULL THEN DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()) END AS AgeSeconds,
              CASE WHEN sc.Handle IS NOT NULL THEN ce.lifetime END AS EndUtc
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          LEFT OUTER JOIN [etl].[SessionConversations] AS sc WITH (NOLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
              ON sc.Handle = ce.conversation_handle AND ce.is_initiator = 1
          LEFT OUTER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)
              ON cl.Handle = ce.conversation_handle AND ce.is_initiator = 1
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')) AS e
    GROUP BY e.is_initiator, e.state_desc;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN e.Endpoints >= 100000 THEN 50 ELSE 200 END,
        N'endpoints', CONCAT(CASE WHEN e.IsInitiator = 1 THEN N'initiator, ' ELSE N'target, ' END, e.State),
        CONCAT(CASE WHEN e.Endpoints >= 100000 THEN N'at least ' ELSE N'' END, e.Endpoints),
        CASE WHEN e.Endpoints >= 100000 THEN N'So many are a leak, or a dialog per message: see usp_EndLeaked. They slow down every SEND and a restart.'
             ELSE N'CLOSED ones are the target''s memory against replays and go after about 30 minutes.' END, NULL
    FROM @states AS e;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN l.Action = N'END WITH CLEANUP' THEN 100 ELSE 50 END,
        CASE WHEN l.Action = N'END WITH CLEANUP' THEN N'CLOSED past their time' ELSE N'leaked conversations' END,
        l.Action, CONCAT(CASE WHEN COUNT(*) >= 1001 THEN N'at least ' ELSE N'' END, COUNT(*)),
        N'Look with usp_EndLeaked first. A few DISCONNECTED ones come and go: their EndDialog is just being handled.',
        N'EXECUTE [etl].[usp_EndLeaked] @reason = N''usp_Health: leaked'', @WhatIf = 0;'
    FROM [etl].[ufn_Leaked](1001) AS l
    GROUP BY l.Action;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Ages                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'dialogs older than configured', N'//redial/etl/initiator', CONCAT(SUM(e.Old), N', oldest ', MAX(e.OldestSeconds), N' s'),
        N'Nobody sends on them, and usp_RetireIdle does not run: schedule it.',
        N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;'
    FROM @states AS e
    HAVING SUM(e.Old) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 50, N'dialogs near the end of their lifetime', N'//redial/etl/initiator', CONCAT(SUM(e.Ending), N', first ', CONVERT(nvarchar(19), MIN(e.FirstEndUtc), 120), N' UTC'),
        N'Nobody sends on them any more: the next send or usp_RetireIdle closes them by. At the end both sides get Error -8489; what has not landed by then is sent again.',
        N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;'
    FROM @states AS e
    HAVING SUM(e.Ending) > 0;

    RETURN;
END;
GO
