SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_HealthPending]()
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
/* A part of usp_Health: messages on their way. Every count is bounded: where millions wait, a report must not make it worse. */
BEGIN
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

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT
        CASE WHEN p.StatusKind IN (N'queue off', N'broker off', N'no service', N'no route', N'access') THEN 10
             WHEN p.StatusKind = N'far side ended' OR MAX(p.WaitingSeconds) > 300 THEN 50
             ELSE 150 END,
        N'messages pending', CONCAT(p.ToService, N': ', p.StatusKind),
        CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N'at least ' ELSE N'' END, COUNT(*), N' dialogs', N', oldest ' + CONVERT(nvarchar(11), MAX(p.WaitingSeconds)) + N' s'),
        CASE p.StatusKind
            WHEN N'queue off' THEN N'The target queue is off. Find out in vw_Errors what switched it off, then start it.'
            WHEN N'broker off' THEN N'A member of db_owner runs ALTER DATABASE ... SET ENABLE_BROKER in the database the text in vw_Pending names.'
            WHEN N'no service' THEN N'No service of this name is in this instance; names are compared byte by byte. Whoever deploys installs the target.'
            WHEN N'no route' THEN N'No route leads to the service. A database is born with AutoCreatedLocal: was it dropped?'
            WHEN N'access' THEN N'The owner of the initiating service may not enter the target''s database, or a key is missing. See the text in vw_Pending.'
            WHEN N'far side ended' THEN N'The target ended the dialog with these messages behind: the initiator''s activation resends them. Still here? Look in vw_Errors, then send them again.'
            WHEN N'busy' THEN N'The target queue is locked, by maintenance say: it is tried again.'
            WHEN N'not tried' THEN N'No attempt yet. If it stays so, the broker is off or the database is in single-user mode.'
            ELSE N'See the text in vw_Pending.' END,
        CASE p.StatusKind
            WHEN N'queue off' THEN N'EXECUTE [logging].[usp_StartQueue] @reason = N''usp_Health: queue off'', @WhatIf = 0;'
            WHEN N'far side ended' THEN N'EXECUTE [logging].[usp_Resend] @reason = N''usp_Health: far side ended'', @WhatIf = 0;'
            END
    FROM [logging].[vw_Pending] AS p
    GROUP BY p.ToService, p.StatusKind;

    /* Dialogs whose resend activation has left to an operator. */
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'resend too large for activation', d.Handle, N'more than 100000 messages',
        N'It has failed or ended, and its messages wait for you. vw_Errors says why. See to room in the log (three times their bytes) before you send them again.',
        CONCAT(N'EXECUTE [logging].[usp_Resend] @handle = ''', d.Handle, N''', @most = 2000000000, @reason = N''usp_Health: too large for activation'', @WhatIf = 0;')
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

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT 10, N'messages of dialogs that are over', N'//redial/logging/initiator',
        CONCAT(COUNT(*), N' dialogs of ', CASE WHEN @dialogs >= 10000 THEN N'at least ' ELSE N'' END, @dialogs),
        CONCAT(N'Their dialogs were ended by hand, or what activation did with them failed (vw_Errors). Nothing is lost: send them again.',
            CASE WHEN MAX(o.Copies) > 100000 THEN N' Each dialog goes in one transaction: first see that there is room in the log for about three times the bytes of the largest one, and let it be a quiet hour.' END),
        CONCAT(N'EXECUTE [logging].[usp_Resend] ', CASE WHEN MAX(o.Copies) > 100000 THEN CONCAT(N'@most = ', MAX(o.Copies), N', ') END, N'@reason = N''usp_Health: dialogs that are over'', @WhatIf = 0;')
    FROM @old AS o
    /* HASH: one pass over the view, not one for each dialog (F-153). */
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS ce WITH (NOLOCK)
        ON ce.conversation_id = o.ConversationId AND ce.is_initiator = 1 AND ce.state IN ('SO', 'CO')
    WHERE ce.conversation_handle IS NULL
    HAVING COUNT(*) > 0;

    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement)
    SELECT CASE WHEN @oldestUtc < DATEADD(minute, -5, SYSUTCDATETIME()) THEN 50 ELSE 200 END, N'messages that have not landed', N'//redial/logging/target',
        CONCAT(N'in ', @dialogs, N' dialogs, oldest ', CONVERT(nvarchar(19), @oldestUtc, 120), N' UTC'),
        N'On their way: see vw_Unlanded. Older than minutes? Look at the queues and readers. A dialog whose target was ended WITH CLEANUP says nothing before its next message: usp_EndLeaked gives it up once it is closing, usp_Resend with its @handle at once.', NULL
    WHERE @dialogs > 0;

    RETURN;
END;
GO
