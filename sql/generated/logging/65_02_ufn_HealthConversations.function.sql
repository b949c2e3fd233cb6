SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthConversations]()
RETURNS @found TABLE
(
    Priority tinyint NOT NULL,
    Finding nvarchar(60) NOT NULL,
    ObjectName nvarchar(300) NULL,
    Figure nvarchar(100) NULL,
    Advice nvarchar(1000) NOT NULL
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Second part of usp_Health: pending messages and endpoints. Every count is bounded: where millions
   leaked, a report must not make it worse. */
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
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @sentUtc datetime2(3);
    DECLARE @oldestUtc datetime2(3) = '9999-12-31';
    DECLARE @copies int;
    DECLARE @dialogs int = 0;
    DECLARE @sequence bigint;
    DECLARE @last bigint;
    DECLARE @old TABLE
    (
        ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
        Copies bigint NOT NULL          /* at most so many */
    );

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Pending, by what the server says is in the way                                           */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT
        CASE WHEN p.StatusKind IN (N'queue off', N'broker off', N'no service', N'no route', N'access') THEN 10
             WHEN p.StatusKind = N'far side ended' OR MAX(p.WaitingSeconds) > 300 THEN 50
             ELSE 150 END,
        N'messages pending', CONCAT(p.ToService, N': ', p.StatusKind),
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N'at least ' ELSE N'' END, COUNT(*), N', oldest ', MAX(p.WaitingSeconds), N' s'),
        CASE p.StatusKind
            WHEN N'queue off' THEN N'The target queue is off. Find out in vw_Errors what switched it off, then ALTER QUEUE ... WITH STATUS = ON.'
            WHEN N'broker off' THEN N'ALTER DATABASE ... SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE, in the database the text names.'
            WHEN N'no service' THEN N'No service of this name is in this instance; names are compared byte by byte. Deploy the target.'
            WHEN N'no route' THEN N'No route leads to the service. A database is born with AutoCreatedLocal: was it dropped?'
            WHEN N'access' THEN N'The owner of the initiating service may not enter the target''s database, or a key is missing. See the text in vw_Pending.'
            WHEN N'far side ended' THEN N'The target ended the dialog with these messages behind: the initiator''s activation resends them. Still here? Look in vw_Errors, then usp_ResendPending.'
            WHEN N'busy' THEN N'The target queue is locked, by ALTER QUEUE or a rebuild say: it is tried again.'
            WHEN N'not tried' THEN N'No attempt yet. If it stays so, the broker is off or the database is in single-user mode.'
            ELSE N'See the text in vw_Pending.' END
    FROM [logging].[ufn_Pending]() AS p
    GROUP BY p.ToService, p.StatusKind;

    /* Dialogs whose resend activation has left to an operator. */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 10, N'resend too large for activation', d.Handle, N'more than 100000 messages',
        CONCAT(N'It has failed or ended, and its messages wait for you. vw_Errors has its code. See to room in the log (three times their bytes), then EXECUTE usp_ResendPending @handle = ''', d.Handle, N''', @code = that code.')
    FROM (SELECT TOP (100) ce.conversation_handle AS Handle, ce.conversation_id AS ConversationId
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator' AND ce.is_initiator = 1 AND ce.state IN ('DI', 'ER')) AS d
    CROSS APPLY (SELECT COUNT(*) AS Messages
                 FROM (SELECT TOP (100001) sm.MessageSequence
                       FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                       WHERE sm.ConversationId = d.ConversationId) AS q) AS n
    WHERE n.Messages > 100000;

    /* Messages that have not landed, dialog by dialog, each by its oldest: one seek a dialog. */
    WHILE @dialogs < 10000
    BEGIN
        SET @copies = 0;
        SELECT TOP (1) @copies = 1, @conversationId = sm.ConversationId, @sequence = sm.MessageSequence, @sentUtc = sm.SentUtc
        FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId > @conversationId
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @copies = 0
            BREAK;

        SELECT @dialogs = @dialogs + 1,
            @oldestUtc = CASE WHEN @oldestUtc < @sentUtc THEN @oldestUtc ELSE @sentUtc END;
        /* Its own retry comes first. */
        IF @sentUtc < DATEADD(second, -60, SYSUTCDATETIME())
        BEGIN
            /* Numbers of a dialog step by 1 (F-452): from first to last no more than so many, and no count. */
            SET @last = @sequence;
            SELECT TOP (1) @last = sm.MessageSequence
            FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId = @conversationId
            ORDER BY sm.MessageSequence DESC;
            INSERT INTO @old (ConversationId, Copies) VALUES (@conversationId, @last - @sequence + 1);
        END;
    END;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 10, N'messages of dialogs that are over', N'//redial/logging/initiator',
        CONCAT(COUNT(*), N' dialogs of ', CASE WHEN @dialogs >= 10000 THEN N'at least ' ELSE N'' END, @dialogs),
        CONCAT(N'Their dialogs were ended by hand, or what activation did with them failed (vw_Errors). Nothing is lost: ',
            CASE WHEN MAX(o.Copies) <= 100000 THEN N'EXECUTE usp_ResendStranded sends them again.'
                 ELSE CONCAT(N'EXECUTE usp_ResendStranded @most = ', MAX(o.Copies), N' sends them again. Each dialog goes in one transaction: first see that there is room in the log for about three times the bytes of the largest one, and let it be a quiet hour.') END)
    FROM @old AS o
    /* HASH: one pass over the view, not one for each dialog (F-153). */
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS ce WITH (NOLOCK)
        ON ce.conversation_id = o.ConversationId AND ce.is_initiator = 1 AND ce.state IN ('SO', 'CO')
    WHERE ce.conversation_handle IS NULL
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT CASE WHEN @oldestUtc < DATEADD(minute, -5, SYSUTCDATETIME()) THEN 50 ELSE 200 END, N'messages that have not landed', N'//redial/logging/target',
        CONCAT(N'in ', @dialogs, N' dialogs, oldest ', CONVERT(nvarchar(19), @oldestUtc, 120), N' UTC'),
        N'On their way: see vw_Unlanded. Older than minutes? Look at the queues and readers below; a dialog whose target was ended WITH CLEANUP says nothing before its next message: EXECUTE usp_ResendPending @handle = ..., @code = 0.'
    WHERE @dialogs > 0;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Endpoints by state, and the ages of those in use, in one pass over the view              */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @states (IsInitiator, State, Endpoints, Old, OldestSeconds, Ending, FirstEndUtc)
    SELECT e.is_initiator, e.state_desc, COUNT(*),
        0, MAX(e.AgeSeconds),
        SUM(CASE WHEN e.EndUtc < DATEADD(second, 3690, GETUTCDATE()) THEN 1 ELSE 0 END), MIN(e.EndUtc)
    FROM (SELECT TOP (200000) ce.is_initiator, ce.state_desc,
              /* Of dialogs in use only, as in ufn_Conversations. */
              CASE WHEN ce.is_initiator = 1 AND ce.conversation_group_id = N'54A9E148-F784-5F6A-830F-1A6F292962F7' AND cl.ResendOf IS NULL AND cl.EndOfStreamUtc IS NULL THEN DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()) END AS AgeSeconds,
              CASE WHEN ce.is_initiator = 1 AND ce.conversation_group_id = N'54A9E148-F784-5F6A-830F-1A6F292962F7' AND cl.ResendOf IS NULL AND cl.EndOfStreamUtc IS NULL THEN ce.lifetime END AS EndUtc
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          LEFT OUTER JOIN [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK)
              ON cl.Handle = ce.conversation_handle AND ce.is_initiator = 1
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')) AS e
    GROUP BY e.is_initiator, e.state_desc;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT CASE WHEN e.Endpoints >= 100000 THEN 50 ELSE 200 END,
        N'endpoints', CONCAT(CASE WHEN e.IsInitiator = 1 THEN N'initiator, ' ELSE N'target, ' END, e.State),
        CONCAT(CASE WHEN e.Endpoints >= 100000 THEN N'at least ' ELSE N'' END, e.Endpoints),
        CASE WHEN e.Endpoints >= 100000 THEN N'So many are a leak, or a dialog per message: see usp_EndLeaked. They slow down every SEND and a restart.'
             ELSE N'CLOSED ones are the target''s memory against replays and go after about 30 minutes.' END
    FROM @states AS e;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT CASE WHEN l.Action = N'END WITH CLEANUP' THEN 100 ELSE 50 END,
        CASE WHEN l.Action = N'END WITH CLEANUP' THEN N'CLOSED past their time' ELSE N'leaked conversations' END,
        l.Action, CONCAT(CASE WHEN COUNT(*) >= 1001 THEN N'at least ' ELSE N'' END, COUNT(*)),
        N'Look with EXECUTE usp_EndLeaked; end them with @WhatIf = 0. A few DISCONNECTED ones come and go: their EndDialog is just being handled.'
    FROM [logging].[ufn_Leaked](1001) AS l
    GROUP BY l.Action;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Ages                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice)
    SELECT 50, N'dialogs near the end of their lifetime', N'//redial/logging/initiator', CONCAT(SUM(e.Ending), N', first ', CONVERT(nvarchar(19), MIN(e.FirstEndUtc), 120), N' UTC'),
        N'Nobody sends on them any more: the next send passes them by. At the end both sides get Error -8489; what has not landed by then is sent again.'
    FROM @states AS e
    HAVING SUM(e.Ending) > 0;

    RETURN;
END;
GO
