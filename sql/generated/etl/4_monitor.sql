/* Redial 0.1.0, configuration etl: 4_monitor.sql, usp_Health and the views. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'4_monitor.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'cb921dde8c51202a [3-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'3_pieces.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 4_monitor.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Conversations]()
RETURNS @conversations TABLE
(
    Side nvarchar(10) NOT NULL,             /* initiator or target */
    ConversationHandle uniqueidentifier NOT NULL,
    ConversationId uniqueidentifier NOT NULL,   /* the same on both sides */
    State nvarchar(60) NULL,
    Purpose nvarchar(20) NOT NULL,          /* see below */
    ConversationKey nvarchar(200) NULL,     /* of the initiator's side */
    BegunUtc datetime2(3) NULL,             /* NULL: not in ConversationLog */
    AgeSeconds bigint NULL,
    EndOfStreamUtc datetime2(3) NULL,
    Sent bigint NOT NULL,                   /* of this side, EndOfStream included */
    Received bigint NOT NULL,
    TimerDue datetime NULL,
    LifetimeUtc datetime NOT NULL,
    ClosedUntilUtc datetime NULL,           /* CLOSED rows: the server removes them after this */
    Priority tinyint NOT NULL
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Behind vw_Conversations. A function, because it may run as the module user: what a catalog view
   shows depends on the rights of whoever reads it, and an operator has none on services and queues (F-172).
   Purpose: in use (a row leads to it), closing (EndOfStream was sent), resend (a private dialog of
   usp_ResendPending or of a replay), target, unknown.
   NOLOCK throughout: whoever watches must neither wait for senders nor make them wait. */
BEGIN
    INSERT INTO @conversations
        (Side, ConversationHandle, ConversationId, State, Purpose, ConversationKey, BegunUtc, AgeSeconds,
         EndOfStreamUtc, Sent, Received, TimerDue, LifetimeUtc, ClosedUntilUtc, Priority)
    SELECT
        CASE WHEN ce.is_initiator = 1 THEN N'initiator' ELSE N'target' END,
        ce.conversation_handle, ce.conversation_id, ce.state_desc,
        CASE WHEN ce.is_initiator = 0 THEN N'target'
             WHEN sc.Handle IS NOT NULL THEN N'in use'
             WHEN cl.ResendOf IS NOT NULL THEN N'resend'
             WHEN cl.EndOfStreamUtc IS NOT NULL THEN N'closing'
             ELSE N'unknown' END,
        ISNULL(sc.ConversationKey, cl.ConversationKey), cl.BegunUtc,
        DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()), cl.EndOfStreamUtc,
        ce.send_sequence, ce.receive_sequence,
        NULLIF(ce.dialog_timer, '19000101'), ce.lifetime,
        CASE WHEN ce.state = 'CD' THEN NULLIF(ce.security_timestamp, '19000101') END, ce.priority
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER JOIN [etl].[SessionConversations] AS sc WITH (NOLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
        ON sc.Handle = ce.conversation_handle
    LEFT OUTER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target');

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Leaked](
    @most int                           /* at most so many of each kind: there may be hundreds of thousands */
)
RETURNS @leaked TABLE
(
    LeakedId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    Handle uniqueidentifier NOT NULL,
    ConversationId uniqueidentifier NULL,
    IsInitiator bit NOT NULL,
    State nvarchar(60) NOT NULL,
    ConversationKey nvarchar(200) NULL,
    Action nvarchar(30) NOT NULL
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* What usp_EndLeaked would look at: candidates, each of which it checks again under locks. NOLOCK: the
   list waits for nobody, and a dialog that is just being begun is seen with its row.
   GIVE UP: it was sent EndOfStream and nobody is there to answer.
   END ALONE: a target whose sender's side was ended by hand WITH CLEANUP, of which nobody is told (F-463).
   END UNREACHABLE: it was sent EndOfStream, and the service it leads to does not exist.
   No leaks: unused slots of the pool (BegunUtc NULL), dialogs whose EndOfStream was sent, private
   dialogs of a resend or replay (closed when they were made). */
BEGIN
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')
      AND ce.state IN ('DI', 'ER');

    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc,
        CASE WHEN ce.state = 'SO' THEN N'END UNUSED' ELSE N'CLOSE' END
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND NOT EXISTS (SELECT 1
                      FROM [etl].[SessionConversations] AS sc
                          WITH (NOLOCK, INDEX ([UX_SessionConversations_Handle]), FORCESEEK)
                      WHERE sc.Handle = ce.conversation_handle)
      AND NOT EXISTS (SELECT 1
                      FROM [etl].[ConversationLog] AS cl
                          WITH (NOLOCK, FORCESEEK)
                      WHERE cl.Handle = ce.conversation_handle
                        AND cl.EndOfStreamUtc IS NOT NULL);

    /* The target answers within minutes, or an Error says why not: unless its side was ended WITH CLEANUP,
       of which nobody is told. One that waits for its queue or service has a transmission status. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'GIVE UP'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator'
      AND ce.is_initiator = 1
      AND ce.state = 'CO'
      AND cl.EndOfStreamUtc < DATEADD(second, -600, SYSUTCDATETIME())
      AND GET_TRANSMISSION_STATUS(ce.conversation_handle) = N''
      /* Behind a queue that is off a target is not gone, whatever the status says (F-545). */
      AND EXISTS (SELECT 1 FROM sys.service_queues AS tq
                  WHERE tq.object_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ') AND tq.is_receive_enabled = 1 AND tq.is_enqueue_enabled = 1)
      AND NOT EXISTS (SELECT 1
                      FROM sys.conversation_endpoints AS t WITH (NOLOCK)
                      WHERE t.conversation_id = ce.conversation_id AND t.is_initiator = 0 AND t.state <> 'CD');

    /* EndOfStream was sent long ago, the server says that it cannot deliver it, and there is no such service
       here. A service that is only missing for now would keep its copies: those are not listed. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END UNREACHABLE'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/initiator'
      AND ce.is_initiator = 1
      AND ce.state IN ('SO', 'CO')
      AND cl.EndOfStreamUtc < DATEADD(second, -600, SYSUTCDATETIME())
      AND GET_TRANSMISSION_STATUS(ce.conversation_handle) <> N''
      AND NOT EXISTS (SELECT 1 FROM sys.services AS f WHERE f.name COLLATE Latin1_General_BIN2 = ce.far_service COLLATE Latin1_General_BIN2)
      AND NOT EXISTS (SELECT 1 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id);

    /* Nothing more will come, and no Error either. HASH: one pass over the view for all of them (F-153). */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END ALONE'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER HASH JOIN sys.conversation_endpoints AS i WITH (NOLOCK)
        ON i.conversation_id = ce.conversation_id AND i.is_initiator = 1
    WHERE s.name COLLATE Latin1_General_BIN2 = N'//redial/etl/target'
      AND ce.is_initiator = 0
      AND ce.state = 'CO'
      AND i.conversation_handle IS NULL;

    /* A CLOSED row guards against replays until security_timestamp; 1900 means that was never set,
       and then the row is kept until 30 minutes after the lifetime (F-106). Both are UTC. */
    INSERT INTO @leaked (Handle, ConversationId, IsInitiator, State, Action)
    SELECT TOP (@most) ce.conversation_handle, ce.conversation_id, ce.is_initiator, ce.state_desc, N'END WITH CLEANUP'
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')
      AND ce.state = 'CD'
      AND ((ce.security_timestamp > '19000101' AND ce.security_timestamp < GETUTCDATE())
           OR (ce.security_timestamp = '19000101' AND ce.lifetime < DATEADD(minute, -30, GETUTCDATE())));

    INSERT INTO @leaked (Handle, IsInitiator, State, ConversationKey, Action)
    SELECT TOP (@most) sc.Handle, 1, N'gone', sc.ConversationKey, N'FREE SLOT'
    FROM [etl].[SessionConversations] AS sc
        /* READPAST: a row in use is no leak. INDEX, FORCESEEK: this configuration's rows only. */
        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
    WHERE sc.ConfigId = 1
      AND sc.BegunUtc IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = sc.Handle);

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Pending]()
RETURNS @pending TABLE
(
    ConversationHandle uniqueidentifier NOT NULL,
    MessageSequence bigint NULL,
    MessageType nvarchar(256) NULL,
    IsEndOfDialog bit NULL,
    IsError bit NULL,
    EnqueuedUtc datetime NULL,
    WaitingSeconds int NULL,
    ToService nvarchar(256) NULL,
    TransmissionStatus nvarchar(4000) NULL,
    Header varbinary(1300) NULL             /* of the body: who sent it, in vw_Pending */
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Behind vw_Pending: each dialog of this configuration whose last message could not be delivered, and why.
   Of a dialog that has not been tried, and of its messages one by one, only sys.transmission_queue knows,
   which shows no row outside db_owner (F-113): those columns are NULL. Waiting is its oldest message that
   has not landed. GET_TRANSMISSION_STATUS needs no right on its page (F-545). At most 10,000 rows. */
BEGIN
    INSERT INTO @pending (ConversationHandle, EnqueuedUtc, WaitingSeconds, ToService, TransmissionStatus)
    SELECT TOP (10000)
        d.conversation_handle, o.SentUtc, DATEDIFF(second, o.SentUtc, GETUTCDATE()), d.far_service, d.TransmissionStatus
    FROM (SELECT TOP (200000) ce.conversation_handle, ce.conversation_id, ce.far_service,
              GET_TRANSMISSION_STATUS(ce.conversation_handle) AS TransmissionStatus
          FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody; may show what rolls back */
          INNER JOIN sys.services AS s ON s.service_id = ce.service_id
          WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')
            AND ce.state IN ('SO', 'CO', 'DO')) AS d      /* others have nothing to send */
    OUTER APPLY (SELECT TOP (1) sm.SentUtc
                 FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)     /* its rows only */
                 WHERE sm.ConversationId = d.conversation_id
                 ORDER BY sm.MessageSequence) AS o
    WHERE d.TransmissionStatus > N'';

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_QueuePages]()
RETURNS @pages TABLE
(
    QueueName nvarchar(128) NOT NULL,
    Pages bigint NULL,                      /* of the rows; bodies of more than 8,000 bytes lie elsewhere */
    FragmentationPercent float NULL
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* How many pages each queue takes, and how far they are out of order. Mode LIMITED reads the pages above
   the leaves only: no message, and no lock but an intent lock on the table (F-501). Records and ghosts are
   not counted in that mode; but no page holds less than one row, so far more pages than messages are ghosts
   or empty. A function of its own: where the right to ask is missing, the others still answer. */
BEGIN
    INSERT INTO @pages (QueueName, Pages, FragmentationPercent)
    SELECT q.name, ps.page_count, ps.avg_fragmentation_in_percent
    FROM sys.service_queues AS q
    CROSS APPLY sys.dm_db_index_physical_stats(DB_ID(), q.object_id, 1, NULL, N'LIMITED') AS ps
    WHERE q.object_id IN (OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ'), OBJECT_ID(N'[etl].[TargetQueue]', N'SQ'))
      AND ps.alloc_unit_type_desc = N'IN_ROW_DATA';

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Queues]()
RETURNS @queues TABLE
(
    Side nvarchar(10) NOT NULL,             /* initiator or target */
    QueueName nvarchar(128) NOT NULL,
    Messages bigint NULL,                   /* about; retained ones and those not yet committed too */
    IsReceiveEnabled bit NOT NULL,
    IsEnqueueEnabled bit NOT NULL,
    IsActivationEnabled bit NOT NULL,
    ActivationProcedure nvarchar(776) NULL,
    MaxReaders smallint NULL,
    IsRetentionEnabled bit NOT NULL,
    IsPoisonMessageHandlingEnabled bit NULL
)
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Behind vw_Queues; a function for the reason given in ufn_Conversations.
   Messages is what sys.partitions says of the queue's internal table, never counted: COUNT(*) over a
   long queue scans it and stops its readers (F-170). The state of a queue monitor is the server's
   business and not visible from here: usp_Health shows it to a caller with VIEW SERVER STATE. */
BEGIN
    DECLARE @initiator int = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ');
    DECLARE @target int = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ');
    DECLARE @lengths TABLE (QueueId int NOT NULL PRIMARY KEY, Messages bigint NULL);

    INSERT INTO @lengths (QueueId, Messages)
    SELECT it.parent_object_id, SUM(p.rows)
    FROM sys.internal_tables AS it
    INNER JOIN sys.partitions AS p ON p.object_id = it.object_id AND p.index_id = 1
    WHERE it.parent_object_id IN (@initiator, @target)
    GROUP BY it.parent_object_id;

    INSERT INTO @queues
        (Side, QueueName, Messages, IsReceiveEnabled, IsEnqueueEnabled, IsActivationEnabled, ActivationProcedure,
         MaxReaders, IsRetentionEnabled, IsPoisonMessageHandlingEnabled)
    SELECT
        CASE WHEN q.object_id = @target THEN N'target' ELSE N'initiator' END,
        q.name, le.Messages, q.is_receive_enabled, q.is_enqueue_enabled, q.is_activation_enabled,
        q.activation_procedure, q.max_readers, q.is_retention_enabled, q.is_poison_message_handling_enabled
    FROM sys.service_queues AS q
    LEFT OUTER JOIN @lengths AS le ON le.QueueId = q.object_id
    WHERE q.object_id IN (@initiator, @target);

    RETURN;
END;
GO
CREATE OR ALTER FUNCTION [etl].[ufn_DialogOf](
    @id uniqueidentifier,               /* a handle of either side, or a conversation id */
    @rows int                           /* how far to look back without an index */
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration etl */
/* Behind usp_Trace: the conversation that an id is of; NULL: of none that is known. No row for no id. */
RETURN
(
    SELECT COALESCE(
        (SELECT TOP (1) cl.ConversationId FROM [etl].[ConversationLog] AS cl WITH (NOLOCK) WHERE cl.Handle = @id),
        (SELECT TOP (1) cl.ConversationId FROM [etl].[ConversationLog] AS cl WITH (NOLOCK) WHERE cl.ConversationId = @id),
        (SELECT TOP (1) ce.conversation_id
         FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
         INNER JOIN sys.services AS s ON s.service_id = ce.service_id
         WHERE (ce.conversation_handle = @id OR ce.conversation_id = @id) AND s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')),
        (SELECT TOP (1) sm.ConversationId FROM [etl].[SentMessage] AS sm WITH (NOLOCK) WHERE sm.ConversationId = @id),
        (SELECT TOP (1) ISNULL(dl.ConversationId, dl.ConversationHandle) FROM (SELECT TOP (@rows) t.* FROM [etl].[DeadLetter] AS t WITH (NOLOCK) ORDER BY t.DeadLetterId DESC) AS dl WHERE dl.ConversationHandle = @id OR dl.ConversationId = @id),
        (SELECT TOP (1) ISNULL(l.ConversationId, l.ConversationHandle) FROM (SELECT TOP (@rows) t.* FROM [etl].[Landing] AS t WITH (NOLOCK) ORDER BY t.RowVersion DESC) AS l WHERE l.ConversationHandle = @id OR l.ConversationId = @id)) AS ConversationId
    WHERE @id IS NOT NULL
);
GO
CREATE OR ALTER FUNCTION [etl].[ufn_DialogTrail](
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* of the sender's side, where it is there */
    @targetHandle uniqueidentifier
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration etl */
/* Behind usp_Trace: what is known of a dialog as a whole, and what failed on it, an event a row. */
RETURN
(
    SELECT v.WhenUtc, v.Rank, v.Step, CONVERT(nvarchar(60), N'ConversationLog') AS Place, cl.ConversationId, CONVERT(bigint, NULL) AS MessageSequence, cl.ConversationKey, v.Detail
    FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)
    CROSS APPLY (VALUES (cl.BegunUtc, 10, CONVERT(nvarchar(30), N'dialog begun'), CONVERT(nvarchar(4000), CONCAT(N'handle ', cl.Handle, CASE WHEN cl.ResendOf IS NOT NULL THEN CONCAT(N', for ', cl.Messages, N' messages that are sent again, of ', cl.ResendOf) END))),
                        (cl.EndOfStreamUtc, 30, N'end of stream sent', CONCAT(N'behind ', cl.Messages, N' messages')),
                        (cl.EndedUtc, 80, N'dialog ended', CONCAT(N'code ', ISNULL(CONVERT(nvarchar(12), cl.Code), N'unknown'), N'; of ', cl.Messages, N' messages ', cl.Resent, N' sent again, ',
                            cl.DeadLettered, N' dead letters', N'. ' + cl.Reason))) AS v(WhenUtc, Rank, Step, Detail)
    WHERE cl.ConversationId = @conversationId AND v.WhenUtc IS NOT NULL
    UNION ALL
    SELECT pa.LastUtc, 45, N'landing has failed', N'PoisonAttempt', @conversationId, CASE WHEN pa.MessageSequence >= 0 THEN pa.MessageSequence END, NULL,
        CONCAT(CASE pa.MessageSequence WHEN -3 THEN N'The dialog waits for the server to be mended'
                WHEN -5 THEN CONCAT(pa.Attempts, N' messages in a row are dead letters') ELSE CONCAT(pa.Attempts, N' times') END,
            N'. Error ' + CONVERT(nvarchar(12), pa.ErrorNumber), N': ' + pa.ErrorMessage)
    FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE pa.ConversationHandle = @targetHandle AND (pa.MessageSequence >= 0 OR pa.MessageSequence IN (-3, -5))
    UNION ALL
    SELECT el.AddedUtc, 46, N'error', N'ErrorLog', @conversationId, el.MessageSequence, NULL, CONCAT(el.ProcedureName, N' ' + CONVERT(nvarchar(12), el.ErrorNumber), N': ', el.ErrorMessage)
    FROM (SELECT TOP (1000) t.* FROM [etl].[ErrorLog] AS t WITH (NOLOCK) ORDER BY t.ErrorLogId DESC) AS el
    WHERE el.ConversationHandle IN (@handle, @targetHandle)
);
GO
CREATE OR ALTER FUNCTION [etl].[ufn_SentAgain](
    @conversationId uniqueidentifier,
    @sequence bigint,
    @rows int                           /* how far to look back without an index */
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration etl */
/* Where a message of a dialog went when it was sent again; no row where that is not known for certain. A resend moves
   all that had not landed, in its order; a replay the letters it has marked. Both give numbers from 0 on. */
RETURN
(
    /* Several dialogs: a body was refused, and others went in another order. */
    SELECT k.ConversationId, @sequence - f.First - d.Before AS MessageSequence
    FROM [etl].[ConversationLog] AS p WITH (NOLOCK)
    CROSS APPLY (SELECT COUNT(*) AS Letters, ISNULL(SUM(CASE WHEN dl.MessageSequence < @sequence THEN 1 ELSE 0 END), 0) AS Before, ISNULL(SUM(CASE WHEN dl.MessageSequence = @sequence THEN 1 ELSE 0 END), 0) AS Same
                 FROM [etl].[DeadLetter] AS dl WITH (NOLOCK)
                 WHERE dl.ConversationId = @conversationId AND dl.Side = N'initiator') AS d
    CROSS APPLY (SELECT cl.ConversationId, cl.Messages, COUNT(*) OVER () AS Dialogs
                 FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)
                 WHERE cl.ResendOf IN (p.Handle, p.ConversationId) AND NOT EXISTS (SELECT 1 FROM [etl].[OperatorLog] AS ol WITH (NOLOCK) WHERE ol.Action = N'replay dead letters' AND ol.Detail LIKE CONCAT(N'%, on conversation ', cl.Handle))) AS k
    /* How many it had sent is not kept where its endpoint was gone: from behind the last that arrived. */
    CROSS APPLY (SELECT COALESCE(p.Messages - k.Messages - d.Letters,
                         (SELECT MAX(h.MessageSequence) + 1
                          FROM (SELECT l.MessageSequence FROM (SELECT TOP (@rows) t.* FROM [etl].[Landing] AS t WITH (NOLOCK) ORDER BY t.RowVersion DESC) AS l
                                WHERE l.ConversationId = @conversationId AND l.MessageType NOT IN (N'EndOfStream',
                                  N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                                  N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
                                UNION ALL
                                SELECT dl.MessageSequence FROM [etl].[DeadLetter] AS dl WITH (NOLOCK) WHERE dl.ConversationId = @conversationId AND dl.Side = N'target') AS h),
                         CASE WHEN p.BegunUtc > DATEADD(day, -14, SYSUTCDATETIME()) THEN 0 END) AS First) AS f
    WHERE p.ConversationId = @conversationId AND k.Dialogs = 1 AND d.Same = 0 AND ISNULL(p.DeadLettered, d.Letters) = d.Letters
      AND @sequence - f.First - d.Before BETWEEN 0 AND k.Messages - 1
    UNION ALL
    /* OperatorLog says which letters one dialog was for: 'n from a to b, on conversation h'. */
    SELECT cl.ConversationId, n.Number
    FROM [etl].[DeadLetter] AS dl WITH (NOLOCK)
    INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK) ON cl.ResendOf = dl.ConversationHandle AND cl.BegunUtc >= dl.HandledUtc
    INNER JOIN [etl].[OperatorLog] AS ol WITH (NOLOCK) ON ol.Action = N'replay dead letters' AND ol.Detail LIKE CONCAT(N'%, on conversation ', cl.Handle)
    CROSS APPLY (SELECT CHARINDEX(N' from ', ol.Detail) + 6 AS StartAt, CHARINDEX(N' to ', ol.Detail) AS ToAt, CHARINDEX(N',', ol.Detail) AS EndAt) AS w
    CROSS APPLY (SELECT TRY_CONVERT(bigint, SUBSTRING(ol.Detail, w.StartAt, CASE WHEN w.ToAt > w.StartAt THEN w.ToAt - w.StartAt ELSE 0 END)) AS FromId,
                     TRY_CONVERT(bigint, SUBSTRING(ol.Detail, w.ToAt + 4, CASE WHEN w.EndAt > w.ToAt + 4 THEN w.EndAt - w.ToAt - 4 ELSE 0 END)) AS ToId) AS r
    CROSS APPLY (SELECT COUNT(*) AS Letters, ISNULL(SUM(b.IsBefore), 0) AS Number      /* a table of its own: else 8124 */
                 FROM (SELECT CASE WHEN o.MessageSequence < dl.MessageSequence OR (o.MessageSequence = dl.MessageSequence AND o.DeadLetterId < dl.DeadLetterId) THEN 1 ELSE 0 END AS IsBefore
                       FROM [etl].[DeadLetter] AS o WITH (NOLOCK)
                       WHERE o.DeadLetterId BETWEEN r.FromId AND r.ToId AND o.ConversationHandle = dl.ConversationHandle AND o.HandledUtc = dl.HandledUtc AND o.Handling = N'replayed') AS b) AS n
    WHERE ISNULL(dl.ConversationId, dl.ConversationHandle) = @conversationId AND dl.MessageSequence = @sequence AND dl.Handling = N'replayed'
      AND dl.DeadLetterId BETWEEN r.FromId AND r.ToId AND n.Letters = cl.Messages
);
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Sides]()
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration etl */
/* Behind usp_Trace: both sides of each dialog in one row. NOLOCK: who looks waits for nobody. */
RETURN
(
    SELECT ce.conversation_id AS ConversationId,
        MAX(CASE ce.is_initiator WHEN 1 THEN ce.conversation_handle END) AS Handle,
        MAX(CASE ce.is_initiator WHEN 0 THEN ce.conversation_handle END) AS TargetHandle,
        MAX(CASE WHEN ce.is_initiator = 1 AND ce.state IN ('SO', 'CO') THEN 1 ELSE 0 END) AS IsOpen,     /* of the sender's side */
        MAX(CASE ce.is_initiator WHEN 1 THEN ce.send_sequence END) AS Sent,
        MAX(CASE ce.is_initiator WHEN 0 THEN ce.receive_sequence END) AS Arrived,
        CONCAT(N'sender ' + MAX(CASE ce.is_initiator WHEN 1 THEN CONCAT(ce.state_desc, N', sent ', ce.send_sequence, N'; ') END),
            N'target ' + MAX(CASE ce.is_initiator WHEN 0 THEN CONCAT(ce.state_desc, N', received ', ce.receive_sequence) END)) AS States
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/etl/initiator', N'//redial/etl/target')
    GROUP BY ce.conversation_id
);
GO
CREATE OR ALTER FUNCTION [etl].[ufn_Trail](
    @conversationId uniqueidentifier,   /* a dialog's messages; NULL: by what the envelope says */
    @sequence bigint,                   /* one of them; NULL: all */
    @messageId uniqueidentifier,
    @key nvarchar(200),
    @keySequence bigint,                /* one of the key; NULL: all */
    @rows int                           /* how far to look back without an index */
)
RETURNS TABLE   -- noqa: CP05
AS
/* Redial 0.1.0, configuration etl */
/* Behind usp_Trace: where messages are or were, an event a row, out of the tables that have them. A dialog's copies
   are found by their key; what has no index for the question is sought in the last @rows rows.
   NOLOCK throughout: who looks neither waits nor is waited for. */
RETURN
(
    SELECT l.LandedUtc AS WhenUtc, 50 AS Rank, CONVERT(nvarchar(30), N'landed') AS Step, CONVERT(nvarchar(60), N'Landing') AS Place,
        ISNULL(l.ConversationId, l.ConversationHandle) AS ConversationId, l.MessageSequence, l.ConversationKey, l.KeySequence, l.MessageId, l.MessageType,
        DATALENGTH(l.Body) AS Bytes, l.SentUtc, CONVERT(nvarchar(4000), CONCAT(N'RowVersion ', CONVERT(nvarchar(18), CONVERT(binary(8), l.RowVersion), 1))) AS Detail
    FROM (SELECT TOP (@rows) t.* FROM [etl].[Landing] AS t WITH (NOLOCK) ORDER BY t.RowVersion DESC) AS l
    WHERE ISNULL(l.ConversationId, l.ConversationHandle) = @conversationId AND l.MessageSequence BETWEEN ISNULL(@sequence, -9223372036854775808) AND ISNULL(@sequence, 9223372036854775807)
    UNION ALL
    SELECT l.LandedUtc AS WhenUtc, 50 AS Rank, CONVERT(nvarchar(30), N'landed') AS Step, CONVERT(nvarchar(60), N'Landing') AS Place,
        ISNULL(l.ConversationId, l.ConversationHandle) AS ConversationId, l.MessageSequence, l.ConversationKey, l.KeySequence, l.MessageId, l.MessageType,
        DATALENGTH(l.Body) AS Bytes, l.SentUtc, CONVERT(nvarchar(4000), CONCAT(N'RowVersion ', CONVERT(nvarchar(18), CONVERT(binary(8), l.RowVersion), 1))) AS Detail
    FROM (SELECT TOP (@rows) t.* FROM [etl].[Landing] AS t WITH (NOLOCK) ORDER BY t.RowVersion DESC) AS l
    WHERE (l.MessageId = @messageId)
    UNION ALL
    SELECT sm.SentUtc, 20, N'copied', N'SentMessage', sm.ConversationId, sm.MessageSequence, e.ConversationKey, e.KeySequence, e.MessageId, sm.MessageType,
        DATALENGTH(sm.Body), ISNULL(e.SentUtc, sm.SentUtc), N'Kept until it has landed, is a dead letter or was sent again.'
    FROM [etl].[SentMessage] AS sm WITH (NOLOCK)
    CROSS APPLY [etl].[ufn_ReadEnvelope](SUBSTRING(sm.Body, 1, 1300)) AS e
    WHERE sm.ConversationId = @conversationId AND sm.MessageSequence BETWEEN ISNULL(@sequence, -9223372036854775808) AND ISNULL(@sequence, 9223372036854775807)
    UNION ALL
    SELECT sm.SentUtc, 20, N'copied', N'SentMessage', sm.ConversationId, sm.MessageSequence, e.ConversationKey, e.KeySequence, e.MessageId, sm.MessageType,
        DATALENGTH(sm.Body), ISNULL(e.SentUtc, sm.SentUtc), N'Kept until it has landed, is a dead letter or was sent again.'
    FROM (SELECT TOP (@rows) t.* FROM [etl].[SentMessage] AS t WITH (NOLOCK) WHERE @conversationId IS NULL) AS sm
    CROSS APPLY [etl].[ufn_ReadEnvelope](SUBSTRING(sm.Body, 1, 1300)) AS e
    WHERE (e.MessageId = @messageId)
    UNION ALL
    SELECT v.WhenUtc, v.Rank, v.Step, N'DeadLetter', ISNULL(dl.ConversationId, dl.ConversationHandle), dl.MessageSequence, e.ConversationKey, e.KeySequence, e.MessageId, dl.MessageType,
        DATALENGTH(dl.Body), e.SentUtc, v.Detail
    FROM (SELECT TOP (@rows) t.* FROM [etl].[DeadLetter] AS t WITH (NOLOCK) ORDER BY t.DeadLetterId DESC) AS dl
    CROSS APPLY [etl].[ufn_ReadEnvelope](SUBSTRING(dl.Body, 1, 1300)) AS e
    CROSS APPLY (VALUES (dl.AddedUtc, 60, N'dead letter', CONCAT(dl.DeadLetterId, N' of the ', dl.Side, N'''s side, code ', dl.Code, N': ' + dl.Reason)),
                        (dl.HandledUtc, 65, dl.Handling, CONCAT(dl.DeadLetterId, N' by ', dl.HandledBy, N': ' + dl.HandlingReason))) AS v(WhenUtc, Rank, Step, Detail)
    WHERE v.WhenUtc IS NOT NULL AND ((ISNULL(dl.ConversationId, dl.ConversationHandle) = @conversationId AND dl.MessageSequence BETWEEN ISNULL(@sequence, -9223372036854775808) AND ISNULL(@sequence, 9223372036854775807)) OR (e.MessageId = @messageId))
    UNION ALL
    SELECT ib.ReceivedUtc, 48, N'id kept', N'Inbox', NULL, NULL, NULL, NULL, ib.MessageId, NULL, NULL, NULL, CONCAT(N'It landed then. Repeats that were dropped: ', ib.Repeats)
    FROM [etl].[Inbox] AS ib WITH (NOLOCK)
    WHERE ib.MessageId = @messageId
);
GO
CREATE OR ALTER VIEW [etl].[vw_Findings]
AS
/* Redial 0.1.0, configuration etl */
/* The register: what usp_Health asks, in this order. A row without Priority gathers, in a temporary table, what
   several findings need; every other is a finding, whose Query has the columns object, figure, more, statement. */
SELECT f.PartId, f.Id, f.Priority, f.Title, f.Needs, f.Who, f.Page, f.Advice, f.Query
FROM (VALUES
    (1, N'copies', NULL, N'copies by dialog', N'', N'', N'', N'', N'DECLARE @conversationId uniqueidentifier = ''00000000-0000-0000-0000-000000000000'';
DECLARE @sentUtc datetime2(3);
DECLARE @sequence bigint;
DECLARE @last bigint;
DECLARE @isOld bit;
DECLARE @dialogs int = 0;
DECLARE @copies TABLE
(
    ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
    OldestUtc datetime2(3) NOT NULL,
    IsOld bit NOT NULL,
    Copies bigint NULL
);
DECLARE @open TABLE (ConversationId uniqueidentifier NOT NULL PRIMARY KEY);

/* Each dialog by its oldest copy: one seek a dialog. READPAST: what is not committed, or is just landing, is
   neither old nor lost; nobody waits. */
WHILE @dialogs < 10000
BEGIN
    SET @sentUtc = NULL;
    SELECT TOP (1) @conversationId = sm.ConversationId, @sequence = sm.MessageSequence, @sentUtc = sm.SentUtc
    FROM [etl].[SentMessage] AS sm WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)
    WHERE sm.ConversationId > @conversationId
    ORDER BY sm.ConversationId, sm.MessageSequence;
    IF @sentUtc IS NULL
        BREAK;

    SET @dialogs = @dialogs + 1;
    SET @isOld = CASE WHEN @sentUtc < DATEADD(second, -60, SYSUTCDATETIME()) THEN 1 ELSE 0 END;
    /* Numbers of a dialog step by 1 (F-452): from first to last no more than so many, and no count. */
    SET @last = @sequence;
    IF @isOld = 1
        SELECT TOP (1) @last = sm.MessageSequence
        FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId = @conversationId
        ORDER BY sm.MessageSequence DESC;
    INSERT INTO @copies (ConversationId, OldestUtc, IsOld, Copies)
    VALUES (@conversationId, @sentUtc, @isOld, @last - @sequence + 1);
END;

INSERT INTO @open (ConversationId)
SELECT ce.conversation_id
FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
INNER JOIN @copies AS o ON o.ConversationId = ce.conversation_id AND o.IsOld = 1
WHERE ce.is_initiator = 1
  AND ce.state IN (''SO'', ''CO'')
OPTION (FORCE ORDER);               /* one pass over the view: the table variable is sought (F-153) */

INSERT INTO #copies (ConversationId, OldestUtc, IsOld, IsOver, Copies)
SELECT o.ConversationId, o.OldestUtc, o.IsOld,
    CASE WHEN o.IsOld = 1 AND NOT EXISTS (SELECT 1 FROM @open AS c WHERE c.ConversationId = o.ConversationId) THEN 1 ELSE 0 END, o.Copies
FROM @copies AS o;'),
    (2, N'endpoints', NULL, N'endpoints by state', N'', N'', N'', N'', N'INSERT INTO #endpoints (IsInitiator, State, Endpoints, Old, OldestSeconds, Ending, FirstEndUtc)
SELECT e.is_initiator, e.state_desc, COUNT(*),
    SUM(CASE WHEN e.AgeSeconds > 7800 THEN 1 ELSE 0 END), MAX(ISNULL(e.AgeSeconds, 0)),
    SUM(CASE WHEN e.EndUtc < DATEADD(second, 3690, GETUTCDATE()) THEN 1 ELSE 0 END), MIN(ISNULL(e.EndUtc, ''99991231''))
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
      WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')) AS e
GROUP BY e.is_initiator, e.state_desc;'),
    (3, N'leaked', NULL, N'leaked conversations', N'', N'', N'', N'', N'INSERT INTO #leaked (Action)
SELECT l.Action
FROM [etl].[ufn_Leaked](1001) AS l;'),
    (4, N'ours', NULL, N'our tables and queues', N'', N'', N'', N'', N'INSERT INTO #ours (ObjectId)
SELECT t.object_id
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N''etl'')
UNION
SELECT sq.object_id
FROM sys.service_queues AS sq
WHERE sq.schema_id = SCHEMA_ID(N''etl'')
UNION
SELECT it.object_id                     /* where a queue keeps its messages (F-170) */
FROM sys.internal_tables AS it
INNER JOIN sys.service_queues AS sq ON sq.object_id = it.parent_object_id
WHERE sq.schema_id = SCHEMA_ID(N''etl'');'),
    (5, N'pending', NULL, N'messages on their way', N'', N'', N'', N'', N'INSERT INTO #pending (ToService, StatusKind, Figure, WaitingSeconds)
SELECT p.ToService, p.StatusKind,
    CONCAT(CASE WHEN COUNT(*) >= 10000 THEN N''at least '' ELSE N'''' END, COUNT(*), N'' dialogs'',
        N'', oldest '' + CONVERT(nvarchar(11), NULLIF(MAX(ISNULL(p.WaitingSeconds, -1)), -1)) + N'' s''), MAX(ISNULL(p.WaitingSeconds, 0))
FROM [etl].[vw_Pending] AS p
GROUP BY p.ToService, p.StatusKind;'),
    (6, N'queues', NULL, N'queues', N'', N'', N'', N'', N'INSERT INTO #queues
    (QueueId, QueueName, Side, Messages, IsReceiveEnabled, IsEnqueueEnabled, IsActivationEnabled, ActivationProcedure,
     ActivationUserId, MaxReaders, IsRetentionEnabled, IsPoisonHandled)
SELECT sq.object_id, q.QueueName, q.Side, q.Messages, q.IsReceiveEnabled, q.IsEnqueueEnabled, q.IsActivationEnabled,
    q.ActivationProcedure, sq.execute_as_principal_id, q.MaxReaders, q.IsRetentionEnabled, q.IsPoisonMessageHandlingEnabled
FROM [etl].[ufn_Queues]() AS q
INNER JOIN sys.service_queues AS sq
    ON sq.object_id = OBJECT_ID(CONCAT(N''[etl]'', N''.'', QUOTENAME(q.QueueName)), N''SQ'');'),
    (7, N'sessions', NULL, N'whose open transactions hold what is ours', N'server sessions', N'', N'', N'', N'/* As the caller. blocking.sql has made the procedure, if an administrator has run it. */
IF HAS_PERMS_BY_NAME(N''[dbo].[redial_etl_sessions]'', N''OBJECT'', N''EXECUTE'') = 1
    EXECUTE [dbo].[redial_etl_sessions];
ELSE IF HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER STATE'') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER PERFORMANCE STATE'') = 1
BEGIN
INSERT INTO #sessions (SessionId, Who, BegunAt, Waiting, Seconds)
    SELECT h.SessionId,
        CONCAT(N''session '', h.SessionId, N'', login '', es.original_login_name, N'', host '', ISNULL(es.host_name, N''unknown''), N'', program '', ISNULL(es.program_name, N''unknown'')),
        b.BegunAt, w.Waiting, ISNULL(w.Seconds, 0)
    FROM (SELECT DISTINCT tl.request_session_id AS SessionId
          FROM sys.dm_tran_locks AS tl
          INNER JOIN #ours AS o ON o.ObjectId = tl.resource_associated_entity_id
          WHERE tl.resource_database_id = DB_ID() AND tl.resource_type = N''OBJECT'' AND tl.request_status = N''GRANT''
            AND tl.request_session_id <> @@SPID
            AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.spid = tl.request_session_id)) AS h
    INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = h.SessionId
    CROSS APPLY (SELECT COUNT(*) AS Waiting, MAX(er.wait_time) / 1000 AS Seconds
                 FROM sys.dm_exec_requests AS er
                 WHERE er.blocking_session_id = h.SessionId AND er.database_id = DB_ID()) AS w
    CROSS APPLY (SELECT MIN(a.transaction_begin_time) AS BegunAt
                 FROM sys.dm_tran_session_transactions AS st
                 INNER JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
                 WHERE st.session_id = h.SessionId) AS b;

END;
ELSE
    INSERT INTO #unseen (Needs, Priority, Titles, Advice)
    VALUES (N''sessions'', 150, N'''', N''Who holds locks only the server knows. An administrator of the server runs blocking.sql of this configuration once, and operators see it; or grants the caller VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE).'');'),
    (8, N'activation-off', 1, N'activation off', N'queues', N'a member of etl_operator', N'queue-off',
        N'Nobody reads the queue. Somebody switched its activation off: ask why, then start it.',
        N'SELECT q.QueueName, NULL, NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: activation off'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.IsActivationEnabled = 0
   OR q.ActivationProcedure IS NULL'),
    (9, N'activation-procedure-missing', 1, N'activation procedure missing', N'queues', N'a member of etl_operator', N'',
        N'The queue starts a procedure that is not there: the server tries every five seconds and writes 9724 in its error log. Starting the queue sets the right one. If that one itself is gone, starting fails: whoever deploys makes it again.',
        N'SELECT q.QueueName, q.ActivationProcedure, NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: activation procedure missing'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.ActivationProcedure IS NOT NULL
  AND OBJECT_ID(q.ActivationProcedure) IS NULL'),
    (10, N'activation-stuck', 1, N'activation stuck', N'queues, server', N'a member of etl_operator', N'',
        N'A reader ended without RECEIVE, and the queue monitor waits for it (state NOTIFIED): nothing is started any more. Mend the reader, then switch activation off and on.',
        N'/* Changing the procedure does not help (F-255). */
SELECT q.QueueName, CONCAT(m.state, N'', about '', q.Messages, N'' messages''), NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: activation stuck'''', @WhatIf = 0;'')
FROM #queues AS q
INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = DB_ID()
WHERE m.state = N''NOTIFIED''
  AND ISNULL(q.Messages, 1) > 0
  AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.queue_id = q.QueueId AND t.database_id = DB_ID())'),
    (11, N'broker-off', 1, N'broker off', N'', N'a member of db_owner', N'',
        N'Nothing is delivered: sends pile up in sys.transmission_queue. A restore or attach switches it off. It needs the database for itself.',
        N'SELECT d.name, NULL, NULL, N''ALTER DATABASE CURRENT SET ENABLE_BROKER;''
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND d.is_broker_enabled = 0'),
    (12, N'database-for-one-user', 1, N'database for one user', N'', N'a member of db_owner', N'',
        N'In single-user mode no reader can start, and no caller comes in. Somebody does maintenance: ask who before you end it.',
        N'SELECT d.name, d.user_access_desc, NULL, N''ALTER DATABASE CURRENT SET MULTI_USER;''
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND d.user_access_desc = N''SINGLE_USER'''),
    (13, N'database-read-only', 1, N'database cannot be written to', N'', N'a member of db_owner', N'',
        N'It is READ_ONLY: no send commits and nothing lands. Ask who set it so; it needs the database for itself.',
        N'SELECT d.name, N''READ_ONLY'', NULL, N''ALTER DATABASE CURRENT SET READ_WRITE;''
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND d.is_read_only = 1'),
    (14, N'index-missing', 1, N'index missing', N'', N'whoever deploys', N'',
        N'Statements name this index, and fail without it (308): a send, a reader, or a purge. Deploying gives it its name back (sp_rename), enables it (REBUILD), or makes it.',
        N'/* Without it, disabled or under another name, statements that name it fail (308, 315). */
SELECT CONCAT(N''etl'', N''.'', n.TableName, N''.'', n.IndexName), CASE WHEN INDEXPROPERTY(t.Id, n.IndexName, ''IsDisabled'') = 1 THEN N''disabled'' ELSE N''missing'' END, NULL,
    CASE WHEN INDEXPROPERTY(t.Id, n.IndexName, ''IsDisabled'') = 1
         THEN CONCAT(N''ALTER INDEX '', QUOTENAME(n.IndexName), N'' ON '', N''[etl]'', N''.'', QUOTENAME(n.TableName), N'' REBUILD;'') END
FROM (SELECT st.name AS TableName, CONCAT(N''PK_'', st.name) AS IndexName
      FROM sys.tables AS st
      INNER JOIN sys.extended_properties AS ep
          ON ep.class = 1 AND ep.major_id = st.object_id AND ep.minor_id = 0 AND ep.name = N''Redial.made''
      WHERE st.schema_id = SCHEMA_ID(N''etl'')
      UNION ALL
      SELECT v.TableName, v.IndexName
      FROM (VALUES (N''SessionConversations'', N''UX_SessionConversations_Handle''), (N''SendLedger'', N''IX_SendLedger_SentUtc''),
                   (N''Inbox'', N''IX_Inbox_ReceivedUtc''), (N''ConversationLog'', N''IX_ConversationLog_ConversationId'')) AS v(TableName, IndexName)) AS n
CROSS APPLY (SELECT OBJECT_ID(CONCAT(N''[etl]'', N''.'', QUOTENAME(n.TableName)), N''U'') AS Id) AS t
WHERE t.Id IS NOT NULL
  AND ISNULL(INDEXPROPERTY(t.Id, n.IndexName, ''IsDisabled''), 1) = 1      /* NULL: there is none */'),
    (15, N'landing-stands', 1, N'nothing lands', N'copies, queues', N'', N'backlog',
        N'Messages wait in the target queue, its reader is on, and nothing has landed for five minutes: somebody holds Landing (an index build, a long report), or the reader fails each time (vw_Errors). Who holds it: finding blocking, for a caller with VIEW SERVER STATE.',
        N'SELECT q.QueueName, CONCAT(N''about '', q.Messages, N'' messages, oldest '', CONVERT(nvarchar(19), c.OldestUtc, 120), N'' UTC''), NULL, NULL
FROM #queues AS q
CROSS APPLY (SELECT MIN(o.OldestUtc) AS OldestUtc FROM #copies AS o) AS c
WHERE q.Side = N''target''
  AND q.Messages > 0
  AND q.IsReceiveEnabled = 1 AND q.IsActivationEnabled = 1
  AND c.OldestUtc < DATEADD(minute, -5, SYSUTCDATETIME())
  AND NOT EXISTS (SELECT 1
                  FROM (SELECT TOP (1) la.LandedUtc FROM [etl].[Landing] AS la WITH (NOLOCK) ORDER BY la.RowVersion DESC) AS l
                  WHERE l.LandedUtc > DATEADD(minute, -5, SYSUTCDATETIME()))'),
    (16, N'monitor-missing', 1, N'no queue monitor', N'queues, server', N'a member of etl_operator', N'',
        N'Activation and broker are on, and nothing watches the queue: the server was just started, or something is wrong with it. Look again in a minute, then switch activation off and on.',
        N'SELECT q.QueueName, NULL, NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: no queue monitor'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.IsActivationEnabled = 1
  AND q.IsReceiveEnabled = 1
  AND EXISTS (SELECT 1 FROM sys.databases AS d
              WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 1 AND d.is_read_only = 0 AND d.user_access_desc <> N''SINGLE_USER'')
  AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_queue_monitors AS m WHERE m.queue_id = q.QueueId AND m.database_id = DB_ID())'),
    (17, N'queue-missing', 1, N'queue missing', N'queues', N'whoever deploys', N'',
        N'A queue is not in this database, or the module user may not see it: deploying makes it.',
        N'SELECT N''InitiatorQueue'', NULL, NULL, NULL
WHERE NOT EXISTS (SELECT 1 FROM #queues AS q WHERE q.QueueName = N''InitiatorQueue'' COLLATE DATABASE_DEFAULT)
UNION ALL
SELECT N''TargetQueue'', NULL, NULL, NULL
WHERE NOT EXISTS (SELECT 1 FROM #queues AS q WHERE q.QueueName = N''TargetQueue'' COLLATE DATABASE_DEFAULT)'),
    (18, N'queue-off', 1, N'queue off', N'queues', N'a member of etl_operator', N'queue-off',
        N'Messages wait; nothing is lost. Five rollbacks in a row switch a queue off: look in vw_Errors first and mend the cause (a full disk, say), then start it.',
        N'SELECT q.QueueName, NULL, NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: queue off'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.IsReceiveEnabled = 0
   OR q.IsEnqueueEnabled = 0'),
    (19, N'server-set-up', 1, N'messages wait for the server', N'', N'an administrator of the server', N'',
        N'How the server is set up keeps them from landing, no message does. Nothing is lost. Mend it (7139: raise max text repl size; see vw_Errors): they land within a minute.',
        N'SELECT N''[etl].[Landing]'', CONCAT(COUNT(*), N'' conversations; '', MIN(pa.ErrorNumber), N'': '', MIN(pa.ErrorMessage)), NULL, NULL
FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.MessageSequence = -3
HAVING COUNT(*) > 0'),
    (20, N'service-not-ours', 1, N'service gone or owned by another', N'', N'a member of db_owner', N'',
        N'Our procedures work as the owner of their services, and the right to SEND is checked against it. Where the statement says that there is no such service, deploying makes it.',
        N'/* One of another owner is as invisible to the module user as one that is gone. */
SELECT N''//redial/etl/initiator'', NULL, NULL, N''ALTER AUTHORIZATION ON SERVICE::[//redial/etl/initiator] TO [etl_module];''
WHERE NOT EXISTS (SELECT 1 FROM sys.services AS s
                  WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator''
                    AND s.principal_id = DATABASE_PRINCIPAL_ID(N''etl_module''))
UNION ALL
SELECT N''//redial/etl/target'', NULL, NULL, N''ALTER AUTHORIZATION ON SERVICE::[//redial/etl/target] TO [etl_module];''
WHERE NOT EXISTS (SELECT 1 FROM sys.services AS s
                  WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/target''
                    AND s.principal_id = DATABASE_PRINCIPAL_ID(N''etl_module''))'),
    (21, N'activation-procedure-other', 10, N'other activation procedure', N'queues', N'a member of etl_operator', N'',
        N'Expected: [etl].[usp_SenderActivation] and [etl].[usp_TargetActivation], as [etl_module]. Starting the queue sets both; then look in the server''s error log for lines 9724.',
        N'SELECT q.QueueName, CONCAT(q.ActivationProcedure, N'' as '', ISNULL(USER_NAME(q.ActivationUserId), N''somebody else'')), NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: other activation procedure'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE OBJECT_ID(q.ActivationProcedure) IS NOT NULL
  AND (OBJECT_ID(q.ActivationProcedure) <> ISNULL(OBJECT_ID(CASE WHEN q.Side = N''target'' THEN N''[etl].[usp_TargetActivation]'' ELSE N''[etl].[usp_SenderActivation]'' END, N''P''), -1)
       OR ISNULL(q.ActivationUserId, 0) <> DATABASE_PRINCIPAL_ID(N''etl_module''))'),
    (22, N'blocking', 10, N'somebody keeps others waiting', N'ours, sessions', N'an administrator of the server', N'',
        N'This session holds what senders, readers or a drain of ours wait for. Ask whoever it is to commit or roll back. Else an administrator ends it, KILL and its number: its open work is rolled back, what it has sent too, and its program gets an error.',
        N'SELECT h.Who, CONCAT(h.Waiting, N'' wait, the longest for '', h.Seconds, N'' s; transaction open since '', CONVERT(nvarchar(19), h.BegunAt, 120), N'' server time''), NULL, NULL
FROM #sessions AS h
WHERE h.Seconds >= 10'),
    (23, N'committed-not-durable', 10, N'committed is not durable', N'', N'a member of db_owner', N'',
        N'What was committed is not yet on disk: a message could be lost when the server stops. ALLOWED is as good.',
        N'SELECT d.name, N''DELAYED_DURABILITY = FORCED'', NULL, N''ALTER DATABASE CURRENT SET DELAYED_DURABILITY = DISABLED;''
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND d.delayed_durability = 2'),
    (24, N'copies-stranded', 10, N'copies whose messages are nowhere', N'copies, pending, queues', N'a member of etl_operator', N'',
        N'Their dialogs are open, no queue holds a message, and nothing is on its way: somebody has ended the target''s side WITH CLEANUP, or emptied the queue. Nothing is lost: the copies are here. Send them again.',
        N'SELECT CONCAT(N''conversation '', o.ConversationId), CONCAT(N''at most '', o.Copies, N'' messages, oldest '', CONVERT(nvarchar(19), o.OldestUtc, 120), N'' UTC''), NULL,
    CONCAT(N''EXECUTE [etl].[usp_Resend] @handle = '''''', cl.Handle, N'''''', @reason = N''''usp_Health: nowhere else'''', @WhatIf = 0;'')
FROM #copies AS o
INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK) ON cl.ConversationId = o.ConversationId
WHERE o.IsOld = 1 AND o.IsOver = 0
  AND o.OldestUtc < DATEADD(minute, -5, SYSUTCDATETIME())
  AND NOT EXISTS (SELECT 1 FROM #queues AS q WHERE q.IsReceiveEnabled = 0 OR q.IsEnqueueEnabled = 0 OR (q.Side = N''target'' AND ISNULL(q.Messages, 1) > 0))
  AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.database_id = DB_ID() AND d.is_broker_enabled = 1)
  AND NOT EXISTS (SELECT 1 FROM #pending)'),
    (25, N'database-with-two-owners', 10, N'database with two owners', N'', N'an administrator of the server', N'',
        N'The server knows another owner than the database itself, as after a failover or an attach: activation may fail with 15517 or 33009.',
        N'SELECT d.name, SUSER_SNAME(d.owner_sid), NULL, CONCAT(N''ALTER AUTHORIZATION ON DATABASE::'', QUOTENAME(d.name), N'' TO '', QUOTENAME(SUSER_SNAME(d.owner_sid)), N'';'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND SUSER_SNAME(d.owner_sid) IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM sys.database_principals AS dp WHERE dp.name = N''dbo'' AND dp.sid = d.owner_sid)'),
    (26, N'database-without-owner', 10, N'database without owner', N'', N'an administrator of the server', N'',
        N'The owner is no login of this server (a restore from elsewhere?): activation may fail with 15517 or 916. Runs with another login as you choose.',
        N'SELECT d.name, NULL, NULL, CONCAT(N''ALTER AUTHORIZATION ON DATABASE::'', QUOTENAME(d.name), N'' TO [sa];'')
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND SUSER_SNAME(d.owner_sid) IS NULL'),
    (27, N'dead-letters', 10, N'dead letters unhandled', N'', N'a member of etl_operator', N'dead-letters',
        N'vw_DeadLetterCauses counts them by cause. Mend the cause, then replay what it has stopped, a thousand at a time; what was done elsewhere: usp_MarkDeadLetter; what nobody needs: usp_PurgeDeadLetter.',
        N'SELECT N''[etl].[DeadLetter]'',
    CONCAT(CASE WHEN g.InAll > 50000 THEN N''at least 50000'' ELSE CONVERT(nvarchar(20), g.InAll) END, N'' in '', g.Causes,
        CASE WHEN g.Causes = 1 THEN N'' cause'' ELSE N'' causes'' END, N'', most ('', g.Letters, ISNULL(N'') code '' + CONVERT(nvarchar(11), g.Code), N'') no code''), N'', first '', CONVERT(nvarchar(19), g.FirstUtc, 120), N'' UTC''),
    CONCAT(CASE WHEN g.InAll > 50000 THEN N''Of the first 50000, '' END, g.Letters, N'' have '', ISNULL(N''code '' + CONVERT(nvarchar(11), g.Code), N''no code''), N'' and '',
        ISNULL(N''type '' + g.MessageType, N''no type''), CASE WHEN g.Example = N'''' THEN N''.'' ELSE N'', as: '' + LEFT(g.Example, 200) END),
    CASE WHEN LEN(s.Statement) <= 1000 THEN s.Statement
         ELSE N''SELECT * FROM [etl].[vw_DeadLetterCauses];'' END
FROM (SELECT TOP (1) c.Code, c.MessageType, c.ReasonLike, c.Letters, c.Example,
          SUM(c.Letters) OVER () AS InAll, COUNT(*) OVER () AS Causes, MIN(c.FirstUtc) OVER () AS FirstUtc
      FROM (SELECT d.Code, d.MessageType, d.ReasonLike, COUNT_BIG(*) AS Letters, MIN(d.AddedUtc) AS FirstUtc, MIN(d.Reason) AS Example
            FROM (SELECT TOP (50001) dl.Code, dl.MessageType, dl.AddedUtc, LEFT(ISNULL(dl.Reason, N''''), 200) AS Reason,
                      REPLACE(REPLACE(REPLACE(CASE WHEN h.Cut > 0 THEN LEFT(h.Beginning, h.Cut - 1) ELSE h.Beginning END, N''['', N''[[]''), N''%'', N''[%]''), N''_'', N''[_]'')
                          + CASE WHEN h.Cut > 0 THEN N''[0-9''''"]%'' WHEN LEN(dl.Reason) > 100 THEN N''_%'' ELSE N'''' END AS ReasonLike
                  FROM [etl].[DeadLetter] AS dl WITH (NOLOCK)
                  CROSS APPLY (SELECT LEFT(ISNULL(dl.Reason, N''''), 100) AS Beginning, PATINDEX(N''%[0-9''''"]%'', LEFT(ISNULL(dl.Reason, N''''), 100)) AS Cut) AS h
                  WHERE dl.HandledUtc IS NULL
                  ORDER BY dl.DeadLetterId) AS d
            GROUP BY d.Code, d.MessageType, d.ReasonLike) AS c
      ORDER BY c.Letters DESC, c.FirstUtc ASC) AS g
CROSS APPLY (SELECT CONCAT(N''EXECUTE [etl].[usp_ReplayDeadLetter] @code = '', ISNULL(g.Code, 0),
    N'', @messageType = N'''''', REPLACE(ISNULL(g.MessageType, N''''), N'''''''', N''''''''''''), N'''''', @reasonLike = N'''''', REPLACE(g.ReasonLike, N'''''''', N''''''''''''),
    N'''''', @reason = N''''usp_Health: mended'''', @WhatIf = 0;'') AS Statement) AS s'),
    (28, N'deployment-unfinished', 10, N'deployment has not come to its end', N'', N'whoever deploys', N'',
        N'It has closed the gate, and usp_Send refuses with 50102: deploying again opens it.',
        N'SELECT N''etl'', CONCAT(N''since '', CONVERT(nvarchar(19), g.ChangedUtc, 120), N'' UTC''), CONCAT(N''By '', g.ChangedBy, N'': '', g.Reason, N''.''), NULL
FROM [etl].[Gate] AS g WITH (NOLOCK)
WHERE g.ConfigId = 1
  AND g.IsOpen = 0
  AND EXISTS (SELECT 1 FROM [etl].[Setting] AS st WITH (NOLOCK) WHERE st.Name = N''deployment.gate'')'),
    (29, N'dialogs-over', 10, N'messages of dialogs that are over', N'copies', N'a member of etl_operator', N'',
        N'Their dialogs were ended by hand, or what activation did with them failed (vw_Errors). Nothing is lost: send them again.',
        N'SELECT N''//redial/etl/initiator'', CONCAT(COUNT(*), N'' dialogs''),
    CASE WHEN MAX(o.Copies) > 100000 THEN N''Each dialog goes in one transaction: first see that there is room in the log for about three times the bytes of the largest one, and let it be a quiet hour.'' END,
    CONCAT(N''EXECUTE [etl].[usp_Resend] '', CASE WHEN MAX(o.Copies) > 100000 THEN CONCAT(N''@most = '', MAX(o.Copies), N'', '') END, N''@reason = N''''usp_Health: dialogs that are over'''', @WhatIf = 0;'')
FROM #copies AS o
WHERE o.IsOver = 1
HAVING COUNT(*) > 0'),
    (30, N'gate-closed', 10, N'gate closed', N'', N'a member of etl_operator', N'',
        N'usp_Send refuses with 50102, since somebody drains this configuration. When that is over, open it.',
        N'SELECT N''etl'', CONCAT(N''since '', CONVERT(nvarchar(19), g.ChangedUtc, 120), N'' UTC''), CONCAT(N''By '', g.ChangedBy, N'': '', g.Reason, N''.''),
    N''EXECUTE [etl].[usp_OpenGate] @reason = N''''usp_Health: it is over'''';''
FROM [etl].[Gate] AS g WITH (NOLOCK)       /* waits for no sender */
WHERE g.ConfigId = 1
  AND g.IsOpen = 0
  AND NOT EXISTS (SELECT 1 FROM [etl].[Setting] AS st WITH (NOLOCK) WHERE st.Name = N''deployment.gate'')'),
    (31, N'level-too-low', 10, N'compatibility level too low', N'', N'a member of db_owner', N'',
        N'The procedures need level 130 or more: a function they call is missing below it.',
        N'SELECT d.name, CONCAT(N''level '', d.compatibility_level), NULL, N''ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130;''
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND d.compatibility_level < 130'),
    (32, N'pending-access', 10, N'pending: access', N'pending', N'a member of db_owner', N'',
        N'The owner of the initiating service may not enter the target''s database, or a key is missing. See the text in vw_Pending.',
        N'SELECT p.ToService, p.Figure, NULL,
    NULL
FROM #pending AS p
WHERE p.StatusKind = N''access'''),
    (33, N'pending-broker-off', 10, N'pending: broker off', N'pending', N'a member of db_owner', N'',
        N'The broker of the target''s database is off. The text in vw_Pending names it: ALTER DATABASE ... SET ENABLE_BROKER there.',
        N'SELECT p.ToService, p.Figure, NULL,
    NULL
FROM #pending AS p
WHERE p.StatusKind = N''broker off'''),
    (34, N'pending-no-route', 10, N'pending: no route', N'pending', N'a member of db_owner', N'',
        N'No route leads to the service. A database is born with AutoCreatedLocal: was it dropped?',
        N'SELECT p.ToService, p.Figure, NULL,
    N''CREATE ROUTE [AutoCreatedLocal] WITH ADDRESS = N''''LOCAL'''';''
FROM #pending AS p
WHERE p.StatusKind = N''no route'''),
    (35, N'pending-no-service', 10, N'pending: no service', N'pending', N'whoever deploys', N'',
        N'No service of this name is in this instance; names are compared byte by byte. Deploying installs the target.',
        N'SELECT p.ToService, p.Figure, NULL,
    NULL
FROM #pending AS p
WHERE p.StatusKind = N''no service'''),
    (36, N'pending-queue-off', 10, N'pending: queue off', N'pending', N'a member of etl_operator', N'queue-off',
        N'The target queue is off. Find out in vw_Errors what switched it off, then start it.',
        N'SELECT p.ToService, p.Figure, NULL,
    N''EXECUTE [etl].[usp_StartQueue] @reason = N''''usp_Health: queue off'''', @WhatIf = 0;''
FROM #pending AS p
WHERE p.StatusKind = N''queue off'''),
    (37, N'reader-without-receive', 10, N'reader without RECEIVE', N'queues, server', N'a member of etl_operator', N'',
        N'It was started, and the queue monitor waits for its RECEIVE (state NOTIFIED): it is blocked, as a rule. If it stays so when nobody blocks it any more, switch activation off and on.',
        N'/* Of several the one started last: the others have come to theirs. Both times are the server''s local ones. */
SELECT q.QueueName, CONCAT(N''session '', r.Session, N'', '', DATEDIFF(second, r.StartedAt, GETDATE()), N'' s''), NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @restart = 1, @reason = N''''usp_Health: reader without RECEIVE'''', @WhatIf = 0;'')
FROM #queues AS q
INNER JOIN sys.dm_broker_queue_monitors AS m ON m.queue_id = q.QueueId AND m.database_id = DB_ID()
CROSS APPLY (SELECT TOP (1) t.spid AS Session, es.login_time AS StartedAt
             FROM sys.dm_broker_activated_tasks AS t
             INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = t.spid
             WHERE t.queue_id = q.QueueId AND t.database_id = DB_ID()
             ORDER BY es.login_time DESC) AS r
WHERE m.state = N''NOTIFIED''
  AND r.StartedAt < DATEADD(second, -60, GETDATE())'),
    (38, N'resend-too-large', 10, N'resend too large for activation', N'', N'a member of etl_operator', N'',
        N'It has failed or ended, and its messages wait for you. vw_Errors says why. See to room in the log (three times their bytes) before you send them again.',
        N'SELECT d.Handle, N''more than 100000 messages'', NULL,
    CONCAT(N''EXECUTE [etl].[usp_Resend] @handle = '''''', d.Handle, N'''''', @most = 2000000000, @reason = N''''usp_Health: too large for activation'''', @WhatIf = 0;'')
FROM (SELECT TOP (100) ce.conversation_handle AS Handle, ce.conversation_id AS ConversationId
      FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
      INNER JOIN sys.services AS s ON s.service_id = ce.service_id
      WHERE s.name COLLATE Latin1_General_BIN2 = N''//redial/etl/initiator'' AND ce.is_initiator = 1 AND ce.state IN (''DI'', ''ER'')) AS d
CROSS APPLY (SELECT COUNT(*) AS Messages
             FROM (SELECT TOP (100001) sm.MessageSequence
                   FROM [etl].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                   WHERE sm.ConversationId = d.ConversationId) AS q) AS n
WHERE n.Messages > 100000'),
    (39, N'slowed', 10, N'everything is refused', N'', N'a member of etl_operator', N'dead-letters',
        N'What these conversations bring becomes dead letters, so one message a second of them is tried; all others go on. Mend the cause: at the first message that lands they go on too. vw_DeadLetterCauses names the causes.',
        N'SELECT N''[etl].[TargetQueue]'', CONCAT(COUNT(*), N'' conversations, at most '', MAX(pa.Attempts), N'' in a row, code '', MAX(pa.ErrorNumber)), NULL, NULL
FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.MessageSequence = -5 AND pa.Attempts >= 100
HAVING COUNT(*) > 0'),
    (40, N'broker-identity-twice', 50, N'another database with this broker''s identity', N'server', N'an administrator of the server', N'',
        N'A copy of this database was restored or attached on this server. Only one of them can have its broker on (9772), and messages from elsewhere may reach the wrong one. The statement gives the other a new identity and removes its conversations: first see which of the two is the copy.',
        N'SELECT d.name, CASE d.is_broker_enabled WHEN 1 THEN N''its broker is on'' ELSE N''its broker is off'' END, NULL, CONCAT(N''ALTER DATABASE '', QUOTENAME(d.name), N'' SET NEW_BROKER;'')
FROM sys.databases AS d
WHERE d.database_id <> DB_ID()
  AND d.service_broker_guid = (SELECT o.service_broker_guid FROM sys.databases AS o WHERE o.database_id = DB_ID())'),
    (41, N'database-closes-by-itself', 50, N'database closes by itself', N'', N'a member of db_owner', N'',
        N'It closes with its last session, and no reader starts until somebody comes.',
        N'SELECT d.name, N''AUTO_CLOSE ON'', NULL, N''ALTER DATABASE CURRENT SET AUTO_CLOSE OFF;''
FROM sys.databases AS d
WHERE d.database_id = DB_ID()
  AND d.is_auto_close_on = 1'),
    (42, N'dialogs-ending', 50, N'dialogs near the end of their lifetime', N'endpoints', N'a member of etl_operator', N'',
        N'Nobody sends on them any more: the next send or usp_RetireIdle closes them by. At the end both sides get Error -8489; what has not landed by then is sent again.',
        N'SELECT N''//redial/etl/initiator'', CONCAT(SUM(e.Ending), N'', first '', CONVERT(nvarchar(19), MIN(e.FirstEndUtc), 120), N'' UTC''), NULL,
    N''EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;''
FROM #endpoints AS e
HAVING SUM(e.Ending) > 0'),
    (43, N'dialogs-old', 50, N'dialogs older than configured', N'endpoints', N'a member of etl_operator', N'',
        N'Nobody sends on them, and usp_RetireIdle does not run: schedule it.',
        N'SELECT N''//redial/etl/initiator'', CONCAT(SUM(e.Old), N'', oldest '', MAX(e.OldestSeconds), N'' s''), NULL,
    N''EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;''
FROM #endpoints AS e
HAVING SUM(e.Old) > 0'),
    (44, N'endpoints-many', 50, N'very many endpoints', N'endpoints', N'a member of etl_operator', N'',
        N'So many are a leak, or a dialog per message: see usp_EndLeaked. They slow down every SEND and a restart.',
        N'SELECT CONCAT(CASE WHEN e.IsInitiator = 1 THEN N''initiator, '' ELSE N''target, '' END, e.State), CONCAT(N''at least '', e.Endpoints), NULL,
    N''EXECUTE [etl].[usp_EndLeaked] @reason = N''''usp_Health: very many'''', @WhatIf = 0;''
FROM #endpoints AS e
WHERE e.Endpoints >= 100000'),
    (45, N'errors', 50, N'errors in the last hour', N'', N'', N'',
        N'See vw_Errors for the texts.',
        N'SELECT e.ProcedureName, CONCAT(COUNT(*), N'', last '', CONVERT(nvarchar(19), MAX(e.AddedUtc), 120), N'' UTC''), NULL, NULL
FROM (SELECT TOP (10000) el.ProcedureName, el.AddedUtc FROM [etl].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId DESC) AS e
WHERE e.AddedUtc > DATEADD(hour, -1, SYSUTCDATETIME())
GROUP BY e.ProcedureName'),
    (46, N'inbox-past-time', 50, N'message ids past their time', N'', N'a member of etl_operator', N'',
        N'[exactly_once] keeps 7 days: the purge job does not run.',
        N'SELECT N''[etl].[Inbox]'', CONCAT(N''first '', CONVERT(nvarchar(19), i.ReceivedUtc, 120), N'' UTC''), NULL,
    N''EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;''
FROM (SELECT TOP (1) ib.ReceivedUtc FROM [etl].[Inbox] AS ib WITH (NOLOCK, INDEX ([IX_Inbox_ReceivedUtc])) ORDER BY ib.ReceivedUtc) AS i
WHERE i.ReceivedUtc < DATEADD(day, -8, SYSUTCDATETIME())'),
    (47, N'job-failed', 50, N'job failed', N'jobs', N'an administrator of the server', N'',
        N'Its history says why.',
        N'SELECT j.name, CONCAT(N''last run '', CONVERT(nvarchar(19), r.LastRun, 120), CASE j.enabled WHEN 0 THEN N'', disabled'' ELSE N'''' END), NULL, NULL
FROM (VALUES (N''retire'', 60), (N''health'', 60), (N''purge landing'', 2880), (N''purge inbox'', 2880), (N''purge poison'', 2880), (N''purge logs'', 2880), (N''purge send ledger'', 2880)) AS t(Task, LateMinutes)
INNER JOIN msdb.dbo.sysjobs AS j ON j.name COLLATE DATABASE_DEFAULT = LEFT(CONCAT(N''Redial etl: '', t.Task, N'', '', DB_NAME()), 128)
LEFT OUTER JOIN msdb.dbo.sysjobservers AS js ON js.job_id = j.job_id
CROSS APPLY (SELECT DATEADD(second, js.last_run_time / 10000 * 3600 + js.last_run_time / 100 % 100 * 60 + js.last_run_time % 100,
                        CONVERT(datetime2(0), CONVERT(nvarchar(8), NULLIF(js.last_run_date, 0)))) AS LastRun) AS r
WHERE js.last_run_outcome = 0
  AND r.LastRun >= DATEADD(minute, -t.LateMinutes, GETDATE())
  AND t.Task <> N''health''             /* it fails on purpose */'),
    (48, N'job-late', 50, N'job does not run', N'jobs', N'an administrator of the server', N'',
        N'SQL Server Agent stands, or the job is disabled or has no schedule.',
        N'SELECT j.name, CONCAT(N''last run '', ISNULL(CONVERT(nvarchar(19), r.LastRun, 120), N''never''), CASE j.enabled WHEN 0 THEN N'', disabled'' ELSE N'''' END), NULL,
    CASE j.enabled WHEN 0 THEN CONCAT(N''EXECUTE msdb.dbo.sp_update_job @job_name = N'''''', REPLACE(j.name, N'''''''', N''''''''''''), N'''''', @enabled = 1;'') END
FROM (VALUES (N''retire'', 60), (N''health'', 60), (N''purge landing'', 2880), (N''purge inbox'', 2880), (N''purge poison'', 2880), (N''purge logs'', 2880), (N''purge send ledger'', 2880)) AS t(Task, LateMinutes)
INNER JOIN msdb.dbo.sysjobs AS j ON j.name COLLATE DATABASE_DEFAULT = LEFT(CONCAT(N''Redial etl: '', t.Task, N'', '', DB_NAME()), 128)
LEFT OUTER JOIN msdb.dbo.sysjobservers AS js ON js.job_id = j.job_id
CROSS APPLY (SELECT DATEADD(second, js.last_run_time / 10000 * 3600 + js.last_run_time / 100 % 100 * 60 + js.last_run_time % 100,
                        CONVERT(datetime2(0), CONVERT(nvarchar(8), NULLIF(js.last_run_date, 0)))) AS LastRun) AS r
WHERE ISNULL(r.LastRun, j.date_created) < DATEADD(minute, -t.LateMinutes, GETDATE())'),
    (49, N'job-missing', 50, N'job is missing', N'jobs', N'whoever deploys', N'',
        N'Somebody has deleted it: deploying makes it.',
        N'SELECT LEFT(CONCAT(N''Redial etl: '', t.Task, N'', '', DB_NAME()), 128), NULL, NULL, NULL
FROM (VALUES (N''retire''), (N''health''), (N''purge landing''), (N''purge inbox''), (N''purge poison''), (N''purge logs''), (N''purge send ledger'')) AS t(Task)
WHERE NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j
                  WHERE j.name COLLATE DATABASE_DEFAULT = LEFT(CONCAT(N''Redial etl: '', t.Task, N'', '', DB_NAME()), 128))'),
    (50, N'landing-past-time', 50, N'landed rows past their time', N'', N'a member of etl_operator', N'',
        N'[retention] keeps 14 days: the purge job does not run. It takes nothing that a reader has not acknowledged (usp_AcknowledgeLanding); where none ever did, give it @upTo.',
        N'/* Not the first row alone: a clock that was ahead may have dated it. */
SELECT N''[etl].[Landing]'', CONCAT(N''first '', CONVERT(nvarchar(19), la.LandedUtc, 120), N'' UTC''), NULL,
    CASE WHEN r.IsThere = 1 THEN N''EXECUTE [etl].[usp_PurgeLanding] @reason = N''''usp_Health: past its time'''', @WhatIf = 0;'' END
FROM (SELECT MIN(x.LandedUtc) AS LandedUtc
      FROM (SELECT TOP (1000) y.LandedUtc FROM [etl].[Landing] AS y WITH (NOLOCK) WHERE y.LandedUtc <= SYSUTCDATETIME() ORDER BY y.RowVersion) AS x) AS la
CROSS APPLY (SELECT COUNT(*) AS IsThere
             FROM (SELECT TOP (1) k.Reader FROM [etl].[LandingAcknowledged] AS k WITH (NOLOCK) WHERE k.Reader <> N''usp_PurgeLanding'') AS a) AS r
WHERE la.LandedUtc < DATEADD(day, -15, SYSUTCDATETIME())'),
    (51, N'leaked', 50, N'leaked conversations', N'leaked', N'a member of etl_operator', N'',
        N'Nobody will end them. Look with usp_EndLeaked first. A few DISCONNECTED ones come and go: their EndDialog is just being handled.',
        N'SELECT l.Action, CONCAT(CASE WHEN COUNT(*) >= 1001 THEN N''at least '' ELSE N'''' END, COUNT(*)), NULL,
    N''EXECUTE [etl].[usp_EndLeaked] @reason = N''''usp_Health: leaked'''', @WhatIf = 0;''
FROM #leaked AS l
WHERE l.Action <> N''END WITH CLEANUP''
GROUP BY l.Action'),
    (52, N'locks-escalate', 50, N'locks of a table escalate', N'', N'a member of db_owner', N'',
        N'After 5,000 locks one transaction would lock the whole table, and everybody else waits.',
        N'SELECT CONCAT(N''etl'', N''.'', t.name), t.lock_escalation_desc, NULL,
    CONCAT(N''ALTER TABLE '', N''[etl]'', N''.'', QUOTENAME(t.name), N'' SET (LOCK_ESCALATION = DISABLE);'')
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(N''etl'')
  AND t.name IN (N''SessionConversations'', N''ConversationLog'', N''SentMessage'', N''Gate'', N''Everlasting'', N''Inbox'', N''KeySequence'', N''SkippedNumber'', N''SendLedger'')
  AND t.lock_escalation_desc <> N''DISABLE'''),
    (53, N'logs-past-time', 50, N'log rows past their time', N'', N'a member of etl_operator', N'',
        N'[retention] keeps 30 days: the purge job does not run.',
        N'SELECT N''[etl].[ErrorLog]'', CONCAT(N''first '', CONVERT(nvarchar(19), e.AddedUtc, 120), N'' UTC''), NULL,
    N''EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;''
FROM (SELECT TOP (1) el.AddedUtc FROM [etl].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId) AS e
WHERE e.AddedUtc < DATEADD(day, -31, SYSUTCDATETIME())'),
    (54, N'page-locks', 50, N'index locks whole pages', N'', N'a member of db_owner', N'',
        N'Callers that have nothing to do with each other wait for each other, and can deadlock.',
        N'SELECT CONCAT(N''etl'', N''.'', t.name), i.name, NULL,
    CONCAT(N''ALTER INDEX '', QUOTENAME(i.name), N'' ON '', N''[etl]'', N''.'', QUOTENAME(t.name), N'' SET (ALLOW_PAGE_LOCKS = OFF);'')
FROM sys.indexes AS i
INNER JOIN sys.tables AS t ON t.object_id = i.object_id
WHERE t.schema_id = SCHEMA_ID(N''etl'')
  AND t.name IN (N''SessionConversations'', N''ConversationLog'', N''Inbox'', N''KeySequence'')
  AND i.is_disabled = 0
  AND i.allow_page_locks = 1'),
    (55, N'pending-busy', 50, N'pending: busy', N'pending', N'', N'',
        N'The target queue is locked, by maintenance say: it is tried again.',
        N'SELECT p.ToService, p.Figure, NULL,
    NULL
FROM #pending AS p
WHERE p.StatusKind = N''busy''
  AND p.WaitingSeconds > 300'),
    (56, N'pending-far-side-ended', 50, N'pending: far side ended', N'pending', N'a member of etl_operator', N'',
        N'The target ended the dialog with these messages behind: the initiator''s activation resends them. Still here? Look in vw_Errors, then send them again.',
        N'SELECT p.ToService, p.Figure, NULL,
    N''EXECUTE [etl].[usp_Resend] @reason = N''''usp_Health: far side ended'''', @WhatIf = 0;''
FROM #pending AS p
WHERE p.StatusKind = N''far side ended'''),
    (57, N'pending-not-tried', 50, N'pending: not tried', N'pending', N'a member of db_owner', N'',
        N'No attempt for minutes: the broker is off, or the database is in single-user mode.',
        N'SELECT p.ToService, p.Figure, NULL,
    NULL
FROM #pending AS p
WHERE p.StatusKind = N''not tried''
  AND p.WaitingSeconds > 300'),
    (58, N'pending-other', 50, N'pending: other', N'pending', N'', N'',
        N'The server says why in a text of vw_Pending.',
        N'SELECT p.ToService, p.Figure, NULL,
    NULL
FROM #pending AS p
WHERE p.StatusKind = N''other''
  AND p.WaitingSeconds > 300'),
    (59, N'poison', 50, N'poison messages', N'', N'', N'',
        N'These rows made their transaction roll back: see vw_Errors. At 1 whoever receives one next dead-letters it, and five rollbacks in a row would switch the queue off.',
        N'SELECT N''[etl].[PoisonAttempt]'', CONCAT(COUNT(*), N'', most rollbacks '', MAX(pa.Attempts)), NULL, NULL
FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.LastUtc > DATEADD(minute, -10, SYSUTCDATETIME())     /* one that is still there is tried again at once */
  AND pa.Attempts > 0               /* 0: the mark of a batch in a hook (F-163) */
  AND pa.MessageSequence <> -5    /* counts refusals */
HAVING COUNT(*) > 0'),
    (60, N'queue-long', 50, N'long queue', N'queues', N'', N'backlog',
        N'Readers do not keep up, or none runs. One conversation feeds one reader only.',
        N'SELECT q.QueueName, CONCAT(N''about '', q.Messages), NULL, NULL
FROM #queues AS q
WHERE q.Messages > 100000'),
    (61, N'queue-out-of-order', 50, N'queue out of order', N'queues', N'a member of etl_operator', N'backlog',
        N'After a long backlog: RECEIVE reads many pages for each message. Putting it in order takes the queue while it works.',
        N'/* No page holds less than one row: far more pages than messages are ghosts or empty. */
SELECT q.QueueName, CONCAT(p.Pages, N'' pages, '', CONVERT(int, p.FragmentationPercent), N'' % out of order''), NULL,
    CONCAT(N''EXECUTE [etl].[usp_ReorganizeQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: queue out of order'''', @WhatIf = 0;'')
FROM [etl].[ufn_QueuePages]() AS p
INNER JOIN #queues AS q ON q.QueueName = p.QueueName
WHERE p.Pages > 1000
  AND (p.Pages > 2 * q.Messages OR p.FragmentationPercent > 50)'),
    (62, N'queue-poison-handling', 50, N'other poison handling', N'queues', N'a member of etl_operator', N'',
        N'Expected: ON for the initiator''s queue, ON for the target''s. On, a full disk switches the queue off; off, a fault spins. Starting the queue sets it.',
        N'SELECT q.QueueName, CONCAT(N''POISON_MESSAGE_HANDLING '', CASE q.IsPoisonHandled WHEN 1 THEN N''ON'' ELSE N''OFF'' END), NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: poison handling'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.IsPoisonHandled <> CASE WHEN q.Side = N''target'' THEN 1 ELSE 1 END'),
    (63, N'queue-readers', 50, N'other number of readers', N'queues', N'a member of etl_operator', N'',
        N'Expected: 2 of the initiator''s queue, 4 of the target''s. Starting the queue sets it; or change the configuration.',
        N'SELECT q.QueueName, CONCAT(q.MaxReaders, N'' readers''), NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: readers'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.MaxReaders <> CASE WHEN q.Side = N''target'' THEN 4 ELSE 2 END'),
    (64, N'queue-retention', 50, N'queue keeps what was read', N'queues', N'a member of etl_operator', N'',
        N'RETENTION is on: the queue grows as long as its dialogs live, and every RECEIVE becomes slower. Starting the queue switches it off.',
        N'SELECT q.QueueName, N''RETENTION ON'', NULL,
    CONCAT(N''EXECUTE [etl].[usp_StartQueue] @queue = N'''''', REPLACE(q.QueueName, N'''''''', N''''''''''''), N'''''', @reason = N''''usp_Health: retention'''', @WhatIf = 0;'')
FROM #queues AS q
WHERE q.IsRetentionEnabled = 1'),
    (65, N'reader-stalled', 50, N'reader of Landing stands still', N'', N'a member of etl_operator', N'',
        N'It has acknowledged nothing for a day, though rows came: usp_PurgeLanding keeps them all for it. A reader that is gone for good: usp_AcknowledgeLanding with @forget = 1.',
        N'SELECT k.Reader, CONCAT(N''since '', CONVERT(nvarchar(19), k.ChangedUtc, 120), N'' UTC''), NULL,
    CONCAT(N''EXECUTE [etl].[usp_AcknowledgeLanding] @reader = N'''''', REPLACE(k.Reader, N'''''''', N''''''''''''), N'''''', @forget = 1;'')
FROM [etl].[LandingAcknowledged] AS k WITH (NOLOCK)
CROSS APPLY (SELECT TOP (1) la.RowVersion, la.LandedUtc FROM [etl].[Landing] AS la WITH (NOLOCK) ORDER BY la.RowVersion DESC) AS l
WHERE k.Reader <> N''usp_PurgeLanding''
  AND k.ChangedUtc < DATEADD(day, -1, SYSUTCDATETIME())
  AND l.RowVersion >= k.UpTo
  AND l.LandedUtc < DATEADD(minute, -60, SYSUTCDATETIME())'),
    (66, N'readers-all-busy', 50, N'all readers at work and the queue grows', N'queues, server', N'whoever deploys', N'backlog',
        N'More readers help if there are more conversations: a change of the configuration.',
        N'SELECT q.QueueName, CONCAT(r.Running, N'' of '', q.MaxReaders, N'', about '', q.Messages, N'' messages''), NULL, NULL
FROM #queues AS q
CROSS APPLY (SELECT COUNT(*) AS Running FROM sys.dm_broker_activated_tasks AS t
             WHERE t.queue_id = q.QueueId AND t.database_id = DB_ID()) AS r
WHERE r.Running >= q.MaxReaders
  AND q.Messages > 10000'),
    (67, N'transaction-forgotten', 50, N'transaction open for long', N'ours, sessions', N'an administrator of the server', N'',
        N'It has touched our tables or queues and is neither committed nor rolled back: nobody can use its conversation, a drain would wait for it, and the log keeps everything since. Ask whoever it is; the time is the server''s local one.',
        N'SELECT h.Who, CONCAT(N''open since '', CONVERT(nvarchar(19), h.BegunAt, 120), N'', '', DATEDIFF(second, h.BegunAt, GETDATE()), N'' s''), NULL, NULL
FROM #sessions AS h
WHERE h.BegunAt < DATEADD(minute, -5, GETDATE()) AND h.Seconds < 10'),
    (68, N'trigger-of-others', 50, N'trigger on a table of ours', N'', N'a member of db_owner', N'',
        N'It runs inside every send or landing, and what it raises undoes them; none of ours is on a table. Ask whose it is.',
        N'SELECT CONCAT(N''etl'', N''.'', t.name), tr.name, NULL,
    CONCAT(N''DISABLE TRIGGER '', N''[etl]'', N''.'', QUOTENAME(tr.name), N'' ON '', N''[etl]'', N''.'', QUOTENAME(t.name), N'';'')
FROM sys.triggers AS tr
INNER JOIN sys.tables AS t ON t.object_id = tr.parent_id
WHERE t.schema_id = SCHEMA_ID(N''etl'')
  AND tr.is_disabled = 0'),
    (69, N'unlanded-long', 50, N'messages that do not land', N'copies', N'a member of etl_operator', N'',
        N'They wait for more than five minutes: look at the queues, the readers and who blocks them. A dialog whose target was ended WITH CLEANUP says nothing before its next message: usp_EndLeaked gives it up once it is closing, usp_Resend with its @handle at once.',
        N'SELECT N''//redial/etl/target'', CONCAT(N''in '', COUNT(*), N'' dialogs, oldest '', CONVERT(nvarchar(19), MIN(o.OldestUtc), 120), N'' UTC''), NULL, NULL
FROM #copies AS o
HAVING MIN(o.OldestUtc) < DATEADD(minute, -5, SYSUTCDATETIME())'),
    (70, N'closed-past-time', 100, N'CLOSED past their time', N'leaked', N'a member of db_owner', N'',
        N'The server should have removed them. Look with usp_EndLeaked first.',
        N'SELECT l.Action, CONCAT(CASE WHEN COUNT(*) >= 1001 THEN N''at least '' ELSE N'''' END, COUNT(*)), NULL,
    N''EXECUTE [etl].[usp_EndLeaked] @reason = N''''usp_Health: closed past their time'''', @WhatIf = 0;''
FROM #leaked AS l
WHERE l.Action = N''END WITH CLEANUP''
GROUP BY l.Action'),
    (71, N'queue-length-hidden', 150, N'length of a queue not visible', N'queues', N'a member of db_owner', N'',
        N'sys.internal_tables does not show the module user the table of its queue. A member of db_owner sees it there and in sys.partitions.',
        N'SELECT q.QueueName, NULL, NULL, NULL
FROM #queues AS q
WHERE q.Messages IS NULL'),
    (72, N'endpoints', 200, N'endpoints', N'endpoints', N'', N'',
        N'CLOSED ones are the target''s memory against replays and go after about 30 minutes.',
        N'SELECT CONCAT(CASE WHEN e.IsInitiator = 1 THEN N''initiator, '' ELSE N''target, '' END, e.State), CONVERT(nvarchar(11), e.Endpoints), NULL, NULL
FROM #endpoints AS e
WHERE e.Endpoints < 100000'),
    (73, N'pending-by-dialog', 200, N'pending dialogs instead of messages', N'', N'', N'',
        N'etl_module is no member of db_owner, and so it was chosen. vw_Pending has the dialogs whose last try failed, and why; vw_Unlanded has the messages. What is CLOSED past its time, usp_EndLeaked cleans up for a caller who is one.',
        N'SELECT N''sys.transmission_queue'', NULL, NULL, NULL'),
    (74, N'pending-new', 200, N'messages pending', N'pending', N'', N'',
        N'No attempt yet, or busy: it is tried again.',
        N'SELECT CONCAT(p.ToService, N'': '', p.StatusKind), p.Figure, NULL, NULL
FROM #pending AS p
WHERE p.StatusKind IN (N''not tried'', N''busy'', N''other'')
  AND p.WaitingSeconds <= 300'),
    (75, N'queue-length', 200, N'messages in a queue', N'queues', N'', N'',
        N'From sys.partitions, without reading the queue.',
        N'SELECT q.QueueName, CONCAT(N''about '', q.Messages), NULL, NULL
FROM #queues AS q
WHERE q.Messages <= 100000'),
    (76, N'readers-running', 200, N'readers running', N'queues, server', N'', N'',
        N'At most one more is started every five seconds.',
        N'SELECT q.QueueName, CONCAT(r.Running, N'' of '', q.MaxReaders), NULL, NULL
FROM #queues AS q
CROSS APPLY (SELECT COUNT(*) AS Running FROM sys.dm_broker_activated_tasks AS t
             WHERE t.queue_id = q.QueueId AND t.database_id = DB_ID()) AS r'),
    (77, N'rows', 200, N'rows in a table', N'', N'', N'',
        N'Kept by [retention]: landing 14, log 30, dead letters 0 days (0: for ever).',
        N'SELECT CONCAT(N''etl'', N''.'', o.name), CONCAT(N''about '', SUM(p.rows)), NULL, NULL
FROM sys.objects AS o
INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id = 1
WHERE o.object_id IN (OBJECT_ID(N''[etl].[Landing]'', N''U''), OBJECT_ID(N''[etl].[ConversationLog]'', N''U''),
    OBJECT_ID(N''[etl].[ErrorLog]'', N''U''), OBJECT_ID(N''[etl].[DeadLetter]'', N''U''))
GROUP BY o.name'),
    (78, N'unlanded', 200, N'messages that have not landed', N'copies', N'', N'',
        N'On their way: see vw_Unlanded.',
        N'SELECT N''//redial/etl/target'', CONCAT(N''in '', COUNT(*), N'' dialogs, oldest '', CONVERT(nvarchar(19), MIN(o.OldestUtc), 120), N'' UTC''), NULL, NULL
FROM #copies AS o
HAVING MIN(o.OldestUtc) >= DATEADD(minute, -5, SYSUTCDATETIME())'),
    (79, N'version', 200, N'version', N'', N'', N'',
        N'What is installed, since when, by whom.',
        N'SELECT TOP (1) h.ConfigName, h.Version, CONCAT(N''Deployed '', CONVERT(nvarchar(19), h.DeployedUtc, 120), N'' UTC by '', h.DeployedBy, N''.''), NULL
FROM [etl].[DeploymentHistory] AS h WITH (NOLOCK)
ORDER BY h.DeploymentId DESC')
) AS f(PartId, Id, Priority, Title, Needs, Who, Page, Advice, Query);
GO
CREATE OR ALTER PROCEDURE [etl].[usp_CheckHealth]
    @failAt tinyint = 10,               /* 1 to 199: fail for this priority number or a lower one */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Result set: the findings it fails for and those named 'not looked at', with the columns of usp_Health.
   Returns 0, or raises 50290, which names the first five. Prints what was not looked at: a job's history
   keeps it. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @found TABLE
    (
        FoundId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Priority tinyint NOT NULL,
        Finding nvarchar(60) NOT NULL,
        ObjectName nvarchar(1000) NULL,
        Figure nvarchar(100) NULL,
        Advice nvarchar(1000) NOT NULL,
        Statement nvarchar(1000) NULL,
        Who nvarchar(150) NOT NULL,
        Id nvarchar(40) NOT NULL,
        Page nvarchar(60) NOT NULL
    );
    DECLARE @id int = 0;
    DECLARE @count int = 0;
    DECLARE @message nvarchar(2048);

    IF @Help = 1
    BEGIN
        PRINT N'usp_CheckHealth is usp_Health for a job: it fails (50290) when something is wrong, so that a SQL Server
Agent job fails and tells its operator. It changes nothing. What could not be looked at is shown and
printed, whatever its priority number: silence would look like health.
  @failAt  1 to 199, 10 by default: fail for findings of this priority number or a lower one
Example: EXECUTE [etl].[usp_CheckHealth] @failAt = 50;';
        RETURN 0;
    END;

    IF ISNULL(@failAt, 0) NOT BETWEEN 1 AND 199
        THROW 50291, N'@failAt must be 1 to 199.', 1;

    /* As the caller, who may see more of the server than a user of one database. */
    EXECUTE AS CALLER;
    INSERT INTO @found (Priority, Finding, ObjectName, Figure, Advice, Statement, Who, Id, Page)
    EXECUTE [etl].[usp_Health];
    REVERT;

    DELETE FROM @found WHERE Priority > @failAt AND Id <> N'not-looked-at';
    SELECT f.Priority, f.Finding, f.ObjectName AS Object, f.Figure, f.Advice, f.Statement, f.Who, f.Id, f.Page
    FROM @found AS f
    ORDER BY f.FoundId;

    WHILE EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id AND f.Id = N'not-looked-at')
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @message = CONCAT(N'Not looked at: ', f.ObjectName, N'. ', f.Advice)
        FROM @found AS f
        WHERE f.FoundId > @id
          AND f.Id = N'not-looked-at'
        ORDER BY f.FoundId;
        PRINT @message;
    END;
    SET @id = 0;
    DELETE FROM @found WHERE Priority > @failAt;

    SET @message = N'Configuration etl: ';
    WHILE @count < 5 AND EXISTS (SELECT 1 FROM @found AS f WHERE f.FoundId > @id)
    BEGIN
        SELECT TOP (1) @id = f.FoundId, @count = @count + 1,
            @message = LEFT(CONCAT(@message, f.Finding, N', ' + f.ObjectName, N' (' + f.Figure + N')', N'. '), 1900)
        FROM @found AS f
        WHERE f.FoundId > @id
        ORDER BY f.FoundId;
    END;
    IF @count = 0
        RETURN 0;

    SET @message = REPLACE(CONCAT(@message, N'What to do: EXECUTE [etl].[usp_Health];'), N'%', N'%%');   /* F-133 */
    THROW 50290, @message, 1;
END;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_Figures]
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* For a screen that is drawn every few seconds, and for a monitoring system: figures, and no advice. Changes nothing.
   Result set: Name nvarchar(60), Label nvarchar(300), Value bigint; NULL: it cannot be seen. Returns 0. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut it (F-331) */
    SET LOCK_TIMEOUT 1000;              /* who watches waits for nobody */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @figures TABLE (Id int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Name nvarchar(60) NOT NULL, Label nvarchar(300) NOT NULL, Value bigint NULL);
    DECLARE @running TABLE (QueueId int NOT NULL PRIMARY KEY, Readers int NOT NULL);

    IF @Help = 1
    BEGIN
        PRINT N'usp_Figures gives what redial top and redial metrics show of configuration etl, as numbers.
Columns: Name; Label, of what (a queue, a table, a state); Value. Rows of tables and queues are about: from sys.partitions.
It changes nothing, counts no queue by reading it, and waits for nobody longer than a second.
Example: EXECUTE [etl].[usp_Figures];';
        RETURN 0;
    END;

    CREATE TABLE #endpoints
    (
        IsInitiator bit NOT NULL,
        State nvarchar(60) COLLATE DATABASE_DEFAULT NOT NULL,
        Endpoints int NOT NULL,
        Old int NOT NULL,               /* in use for longer than the configuration lets them */
        OldestSeconds bigint NOT NULL,
        Ending int NOT NULL,            /* in use, and near the end of their lifetime */
        FirstEndUtc datetime NOT NULL,
        PRIMARY KEY (IsInitiator, State)
    );
    CREATE TABLE #queues
    (
        QueueId int NOT NULL PRIMARY KEY,
        QueueName nvarchar(128) COLLATE DATABASE_DEFAULT NOT NULL,
        Side nvarchar(10) COLLATE DATABASE_DEFAULT NOT NULL,
        Messages bigint NULL,
        IsReceiveEnabled bit NOT NULL,
        IsEnqueueEnabled bit NOT NULL,
        IsActivationEnabled bit NOT NULL,
        ActivationProcedure nvarchar(776) COLLATE DATABASE_DEFAULT NULL,
        ActivationUserId int NULL,
        MaxReaders smallint NULL,
        IsRetentionEnabled bit NOT NULL,
        IsPoisonHandled bit NULL
    );

    /* ---- 1  Gate and queues. Readers only the server knows: asked as the caller ---- */
    INSERT INTO @figures (Name, Label, Value)
    SELECT N'gate_open', N'', g.IsOpen
    FROM [etl].[Gate] AS g WITH (NOLOCK)   /* waits for no sender */
    WHERE g.ConfigId = 1;

    INSERT INTO #queues
        (QueueId, QueueName, Side, Messages, IsReceiveEnabled, IsEnqueueEnabled, IsActivationEnabled, ActivationProcedure,
         ActivationUserId, MaxReaders, IsRetentionEnabled, IsPoisonHandled)
    SELECT sq.object_id, q.QueueName, q.Side, q.Messages, q.IsReceiveEnabled, q.IsEnqueueEnabled, q.IsActivationEnabled,
        q.ActivationProcedure, sq.execute_as_principal_id, q.MaxReaders, q.IsRetentionEnabled, q.IsPoisonMessageHandlingEnabled
    FROM [etl].[ufn_Queues]() AS q
    INNER JOIN sys.service_queues AS sq
        ON sq.object_id = OBJECT_ID(CONCAT(N'[etl]', N'.', QUOTENAME(q.QueueName)), N'SQ');

    EXECUTE AS CALLER;
    IF HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE') = 1
        INSERT INTO @running (QueueId, Readers)
        SELECT q.QueueId, SUM(CASE WHEN t.spid IS NULL THEN 0 ELSE 1 END)
        FROM #queues AS q
        LEFT OUTER JOIN sys.dm_broker_activated_tasks AS t ON t.queue_id = q.QueueId AND t.database_id = DB_ID()
        GROUP BY q.QueueId;
    REVERT;

    INSERT INTO @figures (Name, Label, Value)
    SELECT v.Name, q.QueueName, v.Value
    FROM #queues AS q
    LEFT OUTER JOIN @running AS r ON r.QueueId = q.QueueId
    CROSS APPLY (VALUES (N'queue_receive_enabled', CONVERT(bigint, q.IsReceiveEnabled)), (N'queue_activation_enabled', q.IsActivationEnabled),
                        (N'queue_messages', q.Messages), (N'queue_readers', r.Readers), (N'queue_readers_most', q.MaxReaders)) AS v(Name, Value)
    ORDER BY q.QueueName, v.Name;

    /* ---- 2  Rows ---- */
    INSERT INTO @figures (Name, Label, Value)
    SELECT N'rows', o.name, SUM(p.rows)
    FROM sys.objects AS o
    INNER JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id = 1
    WHERE o.schema_id = SCHEMA_ID(N'etl')
      AND o.name IN (N'SentMessage', N'Landing', N'DeadLetter', N'ConversationLog', N'ErrorLog')
    GROUP BY o.name
    ORDER BY o.name;

    INSERT INTO @figures (Name, Label, Value)
    SELECT N'dead_letters_unhandled', N'', ISNULL(SUM(CASE WHEN d.HandledUtc IS NULL THEN 1 ELSE 0 END), 0)
    FROM (SELECT TOP (10000) dl.HandledUtc FROM [etl].[DeadLetter] AS dl WITH (NOLOCK) ORDER BY dl.DeadLetterId DESC) AS d
    UNION ALL
    SELECT N'errors_last_hour', N'', ISNULL(SUM(CASE WHEN e.AddedUtc > DATEADD(hour, -1, SYSUTCDATETIME()) THEN 1 ELSE 0 END), 0)
    FROM (SELECT TOP (10000) el.AddedUtc FROM [etl].[ErrorLog] AS el WITH (NOLOCK) ORDER BY el.ErrorLogId DESC) AS e
    UNION ALL
    SELECT CASE pa.MessageSequence WHEN -3 THEN N'conversations_waiting' ELSE N'conversations_slowed' END, N'', COUNT_BIG(*)
    FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
    WHERE (pa.MessageSequence = -3 OR (pa.MessageSequence = -5 AND pa.Attempts >= 100))
    GROUP BY pa.MessageSequence
;

    /* ---- 3  The oldest copy, of the first 1,000 dialogs: one seek each. READPAST: waits for nobody ---- */
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000', @sentUtc datetime2(3), @oldestUtc datetime2(3), @dialogs int = 0;
    WHILE @dialogs < 1000
    BEGIN
        SET @sentUtc = NULL;
        SELECT TOP (1) @conversationId = sm.ConversationId, @sentUtc = sm.SentUtc
        FROM [etl].[SentMessage] AS sm WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, FORCESEEK)
        WHERE sm.ConversationId > @conversationId
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @sentUtc IS NULL
            BREAK;
        SELECT @dialogs = @dialogs + 1, @oldestUtc = CASE WHEN @oldestUtc < @sentUtc THEN @oldestUtc ELSE @sentUtc END;
    END;
    INSERT INTO @figures (Name, Label, Value)
    VALUES (N'unlanded_dialogs', N'', @dialogs), (N'unlanded_oldest_seconds', N'', ISNULL(DATEDIFF_BIG(second, @oldestUtc, SYSUTCDATETIME()), 0));

    /* ---- 4  Dialogs, and what has not reached its queue ---- */
    EXECUTE sys.sp_executesql N'INSERT INTO #endpoints (IsInitiator, State, Endpoints, Old, OldestSeconds, Ending, FirstEndUtc)
SELECT e.is_initiator, e.state_desc, COUNT(*),
    SUM(CASE WHEN e.AgeSeconds > 7800 THEN 1 ELSE 0 END), MAX(ISNULL(e.AgeSeconds, 0)),
    SUM(CASE WHEN e.EndUtc < DATEADD(second, 3690, GETUTCDATE()) THEN 1 ELSE 0 END), MIN(ISNULL(e.EndUtc, ''99991231''))
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
      WHERE s.name COLLATE Latin1_General_BIN2 IN (N''//redial/etl/initiator'', N''//redial/etl/target'')) AS e
GROUP BY e.is_initiator, e.state_desc;';

    INSERT INTO @figures (Name, Label, Value)
    SELECT v.Name, CONCAT(CASE WHEN e.IsInitiator = 1 THEN N'initiator, ' ELSE N'target, ' END, e.State), v.Value
    FROM #endpoints AS e
    CROSS APPLY (VALUES (N'endpoints', CONVERT(bigint, e.Endpoints)), (N'endpoints_oldest_seconds', NULLIF(e.OldestSeconds, 0))) AS v(Name, Value)
    WHERE v.Value IS NOT NULL
    ORDER BY v.Name ASC, e.IsInitiator DESC, e.State ASC;

    INSERT INTO @figures (Name, Label, Value)
    SELECT v.Name, p.StatusKind, v.Value
    FROM (SELECT w.StatusKind, COUNT_BIG(*) AS Waiting, MAX(ISNULL(w.WaitingSeconds, 0)) AS Oldest FROM [etl].[vw_Pending] AS w GROUP BY w.StatusKind) AS p
    CROSS APPLY (VALUES (N'pending', p.Waiting), (N'pending_oldest_seconds', CONVERT(bigint, p.Oldest))) AS v(Name, Value)
    ORDER BY v.Name, p.StatusKind;

    SELECT f.Name, f.Label, f.Value FROM @figures AS f ORDER BY f.Id;
    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_Health]
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each finding and its cost */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: what is wrong, how much of it, and what to do. Changes nothing, waits for nobody longer
   than a second, reads no message body and counts no queue by scanning it (F-170). Each finding is a query of
   its own: where one fails (a table, an index, a view or a right is missing), that is told, and the others
   answer all the same. At most 20 rows a finding.
   Result set: Priority tinyint (1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know,
   200 figures), Finding nvarchar(60), Object nvarchar(1000), Figure nvarchar(100), Advice nvarchar(1000),
   Statement nvarchar(1000), Who nvarchar(150): who may run it, Id nvarchar(40), Page nvarchar(60).
   Returns the lowest priority number found, 200 when all is well. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a query that fails is told, below */
    SET ROWCOUNT 0;                     /* a caller's would cut the report (F-331) */
    SET LOCK_TIMEOUT 1000;              /* who watches waits for nobody */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @parts TABLE
    (
        PartId int NOT NULL PRIMARY KEY,
        Id nvarchar(40) NOT NULL,
        Priority tinyint NULL,          /* NULL: gathers what findings need */
        Title nvarchar(60) NOT NULL,
        Needs nvarchar(60) NOT NULL,    /* gathered before; server, jobs: asked as the caller */
        Who nvarchar(150) NOT NULL,
        Page nvarchar(60) NOT NULL,
        Advice nvarchar(1000) NOT NULL,
        Query nvarchar(max) NOT NULL
    );
    DECLARE @part int = 0, @worst int, @begun datetime2(3), @asCaller bit, @seesServer bit, @seesJobs bit;
    DECLARE @id nvarchar(40), @key nvarchar(60), @title nvarchar(60), @needs nvarchar(60), @query nvarchar(max);

    IF @Help = 1
    BEGIN
        PRINT N'usp_Health says what is wrong with configuration etl, how much of it, what to do, and who may do it.
It changes nothing. Priority: 1 nothing flows, 10 act today, 50 look, 100 tidy up, 150 to know, 200 figures.
  @Debug  1: print each finding looked for, and the milliseconds it took
Column Statement: what whoever stands in Who can run about it. Each procedure of ours has @Help = 1. Id names the
finding for good: vw_Findings lists all of them, with what each asks.
What could not be looked at is named, with the right that is missing.
Example: EXECUTE [etl].[usp_Health];';
        RETURN 0;
    END;

    /* Not table variables: each query is a batch of its own, so that what it lacks fails there. */
    CREATE TABLE #found
    (
        Id nvarchar(40) COLLATE DATABASE_DEFAULT NOT NULL,
        ObjectName nvarchar(300) COLLATE DATABASE_DEFAULT NULL,
        Figure nvarchar(100) COLLATE DATABASE_DEFAULT NULL,
        More nvarchar(1000) COLLATE DATABASE_DEFAULT NULL,
        Statement nvarchar(1000) COLLATE DATABASE_DEFAULT NULL
    );
    CREATE TABLE #unseen                /* what could not be gathered or asked, and what depends on it */
    (
        Needs nvarchar(60) COLLATE DATABASE_DEFAULT NOT NULL PRIMARY KEY,
        Priority tinyint NOT NULL,
        Titles nvarchar(1000) COLLATE DATABASE_DEFAULT NOT NULL,
        Figure nvarchar(100) COLLATE DATABASE_DEFAULT NULL,
        Advice nvarchar(1000) COLLATE DATABASE_DEFAULT NOT NULL
    );
    CREATE TABLE #copies
    (
        ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
        OldestUtc datetime2(3) NOT NULL,
        IsOld bit NOT NULL,             /* its own retry would have come */
        IsOver bit NOT NULL,            /* old, and its dialog is not open */
        Copies bigint NULL              /* of an old one: at most so many */
    );
    CREATE TABLE #endpoints
    (
        IsInitiator bit NOT NULL,
        State nvarchar(60) COLLATE DATABASE_DEFAULT NOT NULL,
        Endpoints int NOT NULL,
        Old int NOT NULL,               /* in use for longer than the configuration lets them */
        OldestSeconds bigint NOT NULL,
        Ending int NOT NULL,            /* in use, and near the end of their lifetime */
        FirstEndUtc datetime NOT NULL,
        PRIMARY KEY (IsInitiator, State)
    );
    CREATE TABLE #leaked
    (
        Action nvarchar(30) COLLATE DATABASE_DEFAULT NOT NULL
    );
    CREATE TABLE #ours
    (
        ObjectId bigint NOT NULL PRIMARY KEY
    );
    CREATE TABLE #pending
    (
        ToService nvarchar(256) COLLATE DATABASE_DEFAULT NULL,
        StatusKind nvarchar(20) COLLATE DATABASE_DEFAULT NOT NULL,
        Figure nvarchar(100) COLLATE DATABASE_DEFAULT NOT NULL,
        WaitingSeconds int NOT NULL
    );
    CREATE TABLE #queues
    (
        QueueId int NOT NULL PRIMARY KEY,
        QueueName nvarchar(128) COLLATE DATABASE_DEFAULT NOT NULL,
        Side nvarchar(10) COLLATE DATABASE_DEFAULT NOT NULL,
        Messages bigint NULL,
        IsReceiveEnabled bit NOT NULL,
        IsEnqueueEnabled bit NOT NULL,
        IsActivationEnabled bit NOT NULL,
        ActivationProcedure nvarchar(776) COLLATE DATABASE_DEFAULT NULL,
        ActivationUserId int NULL,
        MaxReaders smallint NULL,
        IsRetentionEnabled bit NOT NULL,
        IsPoisonHandled bit NULL
    );
    CREATE TABLE #sessions
    (
        SessionId int NOT NULL PRIMARY KEY, Who nvarchar(600) COLLATE DATABASE_DEFAULT NULL,
        BegunAt datetime NULL, Waiting int NOT NULL, Seconds int NOT NULL
    );

    INSERT INTO @parts (PartId, Id, Priority, Title, Needs, Who, Page, Advice, Query)
    SELECT f.PartId, f.Id, f.Priority, f.Title, f.Needs, f.Who, f.Page, f.Advice, f.Query FROM [etl].[vw_Findings] AS f;

    /* What only the server knows is asked as the caller: a user of one database is nobody to the server (F-240). */
    EXECUTE AS CALLER;
    SET @seesServer = CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE') = 1
                             OR HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE') = 1   /* from 2022; NULL before */
                           THEN 1 ELSE 0 END;
    SET @seesJobs = CASE WHEN HAS_PERMS_BY_NAME(N'msdb.dbo.sysjobs', N'OBJECT', N'SELECT') = 1
                          AND HAS_PERMS_BY_NAME(N'msdb.dbo.sysjobservers', N'OBJECT', N'SELECT') = 1 THEN 1 ELSE 0 END;
    REVERT;
    IF @seesServer = 0
        INSERT INTO #unseen (Needs, Priority, Titles, Advice)
        VALUES (N'server', 150, N'', N'The caller has neither VIEW SERVER STATE nor, from 2022 on, VIEW SERVER PERFORMANCE STATE. An administrator grants one of them to a login that calls usp_Health. A job that runs as a user of this database, as ours do, never has one.');
    IF @seesJobs = 0
        INSERT INTO #unseen (Needs, Priority, Titles, Advice)
        VALUES (N'jobs', 150, N'', N'No Agent here, or no right to read msdb, so whether the jobs run cannot be seen. A sysadmin runs this report, or looks at their history.');

    WHILE EXISTS (SELECT 1 FROM @parts AS p WHERE p.PartId > @part)
    BEGIN
        SELECT TOP (1) @part = p.PartId, @id = p.Id, @title = p.Title, @needs = p.Needs, @begun = SYSUTCDATETIME(),
            @key = CASE WHEN p.Priority IS NULL THEN p.Id ELSE CONCAT(N'finding ', p.Id) END,
            @asCaller = CASE WHEN p.Needs LIKE N'%server%' OR p.Needs LIKE N'%jobs%' THEN 1 ELSE 0 END,
            @query = CASE WHEN p.Priority IS NULL THEN p.Query
                          ELSE CONCAT(N'INSERT INTO #found (Id, ObjectName, Figure, More, Statement)
SELECT TOP (20) N''', p.Id, N''', CONVERT(nvarchar(300), q.ObjectName), CONVERT(nvarchar(100), q.Figure), q.More, q.Statement
FROM (', p.Query, N') AS q(ObjectName, Figure, More, Statement);') END
        FROM @parts AS p
        WHERE p.PartId > @part
        ORDER BY p.PartId;

        UPDATE #unseen
        SET Titles = LEFT(CONCAT(Titles, CASE WHEN Titles <> N'' THEN N', ' END, @title), 1000)
        WHERE CHARINDEX(CONCAT(N', ', Needs, N','), CONCAT(N', ', @needs, N',')) > 0;
        IF @@ROWCOUNT > 0
            CONTINUE;

        BEGIN TRY
            IF @asCaller = 1
                EXECUTE AS CALLER;
            EXECUTE sys.sp_executesql @query;
            IF @asCaller = 1
                REVERT;
        END TRY
        BEGIN CATCH
            IF @asCaller = 1
                REVERT;
            IF XACT_STATE() = -1
                THROW;                  /* in a caller's transaction that can only be rolled back */
            INSERT INTO #unseen (Needs, Priority, Titles, Figure, Advice)
            VALUES (@key, 50, @title, CONCAT(N'error ', ERROR_NUMBER()),
                LEFT(CONCAT(N'This part of the report failed: ', ERROR_MESSAGE(),
                    CASE ERROR_NUMBER() WHEN 1222 THEN N' Somebody has it for himself, for an index build say: look again.'
                         ELSE N' If something of ours is missing, whoever deploys does so again.' END), 1000));
        END CATCH;
        IF @Debug = 1
            PRINT CONCAT(CASE WHEN @key = @id THEN N'gathering ' ELSE N'' END, @id, N': ', DATEDIFF(millisecond, @begun, SYSUTCDATETIME()), N' ms');
    END;

    SELECT f.Priority, f.Finding, f.Object, f.Figure, f.Advice, f.Statement, f.Who, f.Id, f.Page
    FROM (SELECT p.Priority, p.Title AS Finding, d.ObjectName AS Object, d.Figure, LEFT(CONCAT(d.More + N' ', p.Advice), 1000) AS Advice,
              d.Statement, p.Who, d.Id, p.Page
          FROM #found AS d
          INNER JOIN @parts AS p ON p.Id = d.Id COLLATE DATABASE_DEFAULT AND p.Priority IS NOT NULL
          UNION ALL
          SELECT u.Priority, N'not looked at', u.Titles, u.Figure, u.Advice, NULL, N'', N'not-looked-at', N''
          FROM #unseen AS u
          WHERE u.Titles <> N'') AS f
    ORDER BY f.Priority, f.Finding, f.Object;

    SELECT @worst = MIN(p.Priority)
    FROM #found AS d
    INNER JOIN @parts AS p ON p.Id = d.Id COLLATE DATABASE_DEFAULT;
    SELECT @worst = MIN(u.Priority) FROM #unseen AS u WHERE u.Titles <> N'' AND u.Priority < @worst HAVING COUNT(*) > 0;
    RETURN ISNULL(@worst, 200);
END;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_Sessions]
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Who holds rows of our tables or messages of our queues in an open transaction; activated readers are not named.
   Changes nothing, waits for nobody. Result set as @Help = 1 says. Returns 0, or 1: the caller may not see it. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's would cut it (F-331) */
    SET LOCK_TIMEOUT 1000;              /* who watches waits for nobody */

    IF @Help = 1
    BEGIN
        PRINT N'usp_Sessions says which sessions hold what is ours in configuration etl, since when, and who waits for them.
Members of the operator role see them where an administrator has run blocking.sql; who has VIEW SERVER STATE, anyhow.
Columns: SessionId; Who (login, host, program); BegunAt, the server''s local time; Waiting, how many; Seconds, the longest.
Example: EXECUTE [etl].[usp_Sessions];';
        RETURN 0;
    END;

    CREATE TABLE #ours
    (
        ObjectId bigint NOT NULL PRIMARY KEY
    );
    CREATE TABLE #sessions
    (
        SessionId int NOT NULL PRIMARY KEY, Who nvarchar(600) COLLATE DATABASE_DEFAULT NULL,
        BegunAt datetime NULL, Waiting int NOT NULL, Seconds int NOT NULL
    );
    CREATE TABLE #unseen (Needs nvarchar(60) NOT NULL, Priority tinyint NOT NULL, Titles nvarchar(1000) NOT NULL, Advice nvarchar(1000) NOT NULL);

    INSERT INTO #ours (ObjectId)
    SELECT t.object_id
    FROM sys.tables AS t
    WHERE t.schema_id = SCHEMA_ID(N'etl')
    UNION
    SELECT sq.object_id
    FROM sys.service_queues AS sq
    WHERE sq.schema_id = SCHEMA_ID(N'etl')
    UNION
    SELECT it.object_id                     /* where a queue keeps its messages (F-170) */
    FROM sys.internal_tables AS it
    INNER JOIN sys.service_queues AS sq ON sq.object_id = it.parent_object_id
    WHERE sq.schema_id = SCHEMA_ID(N'etl');

    EXECUTE AS CALLER;                  /* a user of one database is nobody to the server (F-240) */
    EXECUTE sys.sp_executesql N'/* As the caller. blocking.sql has made the procedure, if an administrator has run it. */
IF HAS_PERMS_BY_NAME(N''[dbo].[redial_etl_sessions]'', N''OBJECT'', N''EXECUTE'') = 1
    EXECUTE [dbo].[redial_etl_sessions];
ELSE IF HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER STATE'') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER PERFORMANCE STATE'') = 1
BEGIN
INSERT INTO #sessions (SessionId, Who, BegunAt, Waiting, Seconds)
    SELECT h.SessionId,
        CONCAT(N''session '', h.SessionId, N'', login '', es.original_login_name, N'', host '', ISNULL(es.host_name, N''unknown''), N'', program '', ISNULL(es.program_name, N''unknown'')),
        b.BegunAt, w.Waiting, ISNULL(w.Seconds, 0)
    FROM (SELECT DISTINCT tl.request_session_id AS SessionId
          FROM sys.dm_tran_locks AS tl
          INNER JOIN #ours AS o ON o.ObjectId = tl.resource_associated_entity_id
          WHERE tl.resource_database_id = DB_ID() AND tl.resource_type = N''OBJECT'' AND tl.request_status = N''GRANT''
            AND tl.request_session_id <> @@SPID
            AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.spid = tl.request_session_id)) AS h
    INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = h.SessionId
    CROSS APPLY (SELECT COUNT(*) AS Waiting, MAX(er.wait_time) / 1000 AS Seconds
                 FROM sys.dm_exec_requests AS er
                 WHERE er.blocking_session_id = h.SessionId AND er.database_id = DB_ID()) AS w
    CROSS APPLY (SELECT MIN(a.transaction_begin_time) AS BegunAt
                 FROM sys.dm_tran_session_transactions AS st
                 INNER JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
                 WHERE st.session_id = h.SessionId) AS b;

END;
ELSE
    INSERT INTO #unseen (Needs, Priority, Titles, Advice)
    VALUES (N''sessions'', 150, N'''', N''Who holds locks only the server knows. An administrator of the server runs blocking.sql of this configuration once, and operators see it; or grants the caller VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE).'');';
    REVERT;

    SELECT s.SessionId, s.Who, s.BegunAt, s.Waiting, s.Seconds FROM #sessions AS s ORDER BY s.Seconds DESC, s.BegunAt ASC, s.SessionId ASC;
    RETURN CASE WHEN EXISTS (SELECT 1 FROM #unseen) THEN 1 ELSE 0 END;
END;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_Trace]
    @id uniqueidentifier = NULL,        /* a handle, conversation id or message id */
    @sequence bigint = NULL,            /* with @id: one message of the dialog */
    @key nvarchar(4000) = NULL,         /* all that is known of a key */
    @keySequence bigint = NULL,         /* with @key: one message of it */
    @deadLetterId bigint = NULL,        /* from vw_DeadLetters */
    @rowVersion binary(8) = NULL,       /* a row of Landing */
    @rows int = 100000,                 /* how far to look back without an index */
    @Help bit = 0                       /* 1: print what this does, and do nothing */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* For an operator: what is known of a message, in order of time. Reads no queue: what was sent, has a copy, and whose
   number the target's endpoint has passed is in the queue. Waits for nobody; at most 999 messages.
   Result set: WhenUtc datetime2(3) (NULL: so it is now), Step nvarchar(30), Place nvarchar(60), ConversationId
   uniqueidentifier, MessageSequence bigint, ConversationKey nvarchar(200), KeySequence bigint, MessageId uniqueidentifier,
   MessageType nvarchar(256), Bytes bigint, Detail nvarchar(4000). The last: Step verdict, Place the word, Detail the sentence. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;
    SET ROWCOUNT 0;                     /* a caller's would cut the lists */
    SET LOCK_TIMEOUT 1000;              /* who watches waits for nobody */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @errors nvarchar(2048), @dialog uniqueidentifier, @number bigint, @messageId uniqueidentifier, @nextDialog uniqueidentifier, @nextNumber bigint,
        @first uniqueidentifier, @depth int = 0, @one bit, @landed int, @copies int, @queued int, @letters int, @sent bigint, @isOpen bit = 0,
        @code int, @word nvarchar(60), @says nvarchar(4000);
    DECLARE @dialogs TABLE (ConversationId uniqueidentifier NOT NULL PRIMARY KEY, Depth int NOT NULL DEFAULT (0), Handle uniqueidentifier NULL, TargetHandle uniqueidentifier NULL, IsOpen bit NULL,
        States nvarchar(300) NULL, Sent bigint NULL, Arrived bigint NULL, Status nvarchar(4000) NULL);      /* Sent, Arrived: numbers from 0 */
    DECLARE @events TABLE (EventId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, WhenUtc datetime2(3) NULL, Rank int NOT NULL, Step nvarchar(30) NOT NULL, Place nvarchar(60) NOT NULL,
        ConversationId uniqueidentifier NULL, MessageSequence bigint NULL, ConversationKey nvarchar(200) NULL, KeySequence bigint NULL, MessageId uniqueidentifier NULL,
        MessageType nvarchar(256) NULL, Bytes bigint NULL, SentUtc datetime2(3) NULL, Detail nvarchar(4000) NULL);

    IF @Help = 1
    BEGIN
        PRINT N'usp_Trace says where a message of configuration etl is, or when and why it was gone. It changes nothing.
One of these says which:
  @id            a handle or conversation id (with @sequence, 0 and up: one message of it), or a message id
  @key           as ConversationLog has it; no @keySequence: messages of a key have no numbers here
  @deadLetterId  see [etl].[vw_DeadLetters]
  @rowVersion    a row of Landing
  @rows          1 to 10000000, 100000 by default: how far to look back in a table without an index for this
The last row is the verdict. Returns 0 landed, 2 pending, 3 dead letter or given up, 4 not known.
Example: EXECUTE [etl].[usp_Trace] @id = ''...'', @sequence = 0;';
        RETURN 0;
    END;

    SET @errors = RTRIM(CONCAT(
        CASE WHEN IIF(@id IS NULL, 0, 1) + IIF(@key IS NULL, 0, 1) + IIF(@deadLetterId IS NULL, 0, 1) + IIF(@rowVersion IS NULL, 0, 1) <> 1
             THEN N'Exactly one of @id, @key, @deadLetterId and @rowVersion must be given. ' END,
        CASE WHEN @sequence < 0 OR (@sequence IS NOT NULL AND @id IS NULL) THEN N'@sequence goes with @id, and must be 0 or more. ' END,
        CASE WHEN @keySequence IS NOT NULL THEN N'@keySequence must be NULL: this configuration numbers no messages of a key. ' END,
        CASE WHEN DATALENGTH(@key) NOT BETWEEN 2 AND 400 THEN N'@key must be 1 to 200 characters. ' END,
        CASE WHEN ISNULL(@rows, 0) NOT BETWEEN 1 AND 10000000 THEN N'@rows must be 1 to 10000000. ' END));
    IF @errors <> N''
        THROW 50300, @errors, 1;

    /* ---- 1  Which: a place, or what its envelope says. NOLOCK throughout ---- */
    SELECT @dialog = d.ConversationId, @number = @sequence, @messageId = CASE WHEN d.ConversationId IS NULL THEN @id END FROM [etl].[ufn_DialogOf](@id, @rows) AS d;
    SELECT @dialog = ISNULL(dl.ConversationId, dl.ConversationHandle), @number = dl.MessageSequence
    FROM [etl].[DeadLetter] AS dl WITH (NOLOCK)
    WHERE dl.DeadLetterId = @deadLetterId;
    SELECT @dialog = ISNULL(l.ConversationId, l.ConversationHandle), @number = l.MessageSequence
    FROM [etl].[Landing] AS l WITH (NOLOCK)
    WHERE l.RowVersion = @rowVersion;
    SELECT @first = @dialog, @sequence = @number, @one = CASE WHEN @key IS NOT NULL AND @keySequence IS NULL OR @dialog IS NOT NULL AND @number IS NULL THEN 0 ELSE 1 END;
    INSERT INTO @dialogs (ConversationId)       /* no message says its key */
    SELECT TOP (20) cl.ConversationId FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)
    WHERE cl.ConversationKey = @key AND cl.ConversationId IS NOT NULL GROUP BY cl.ConversationId ORDER BY MAX(cl.BegunUtc) DESC;

    /* ---- 2  What is known of it: along the dialogs it was sent on, then by what its envelope says ---- */
    INSERT INTO @dialogs (ConversationId) SELECT @dialog WHERE @one = 0 AND @dialog IS NOT NULL;
    WHILE @one = 0 AND @depth < 25      /* with those it was sent again on */
    BEGIN
        INSERT INTO @dialogs (ConversationId, Depth)
        SELECT TOP (100) v.ConversationId, @depth + 1
        FROM (SELECT cl.ConversationId FROM @dialogs AS d INNER JOIN [etl].[ConversationLog] AS p WITH (NOLOCK) ON p.ConversationId = d.ConversationId
                    INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK) ON cl.ResendOf IN (p.Handle, p.ConversationId)
              UNION
              SELECT cl.ConversationId FROM @dialogs AS d INNER JOIN [etl].[DeadLetter] AS dl WITH (NOLOCK) ON dl.ConversationId = d.ConversationId AND dl.Handling = N'replayed' INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK) ON cl.ResendOf = dl.ConversationHandle) AS v
        WHERE NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.ConversationId = v.ConversationId);
        SET @depth = CASE @@ROWCOUNT WHEN 0 THEN 25 ELSE @depth + 1 END;
    END;
    IF @one = 0
        INSERT INTO @events (WhenUtc, Rank, Step, Place, ConversationId, MessageSequence, ConversationKey, KeySequence, MessageId, MessageType, Bytes, SentUtc, Detail)
        SELECT TOP (999) t.WhenUtc, t.Rank, t.Step, t.Place, t.ConversationId, t.MessageSequence, t.ConversationKey, t.KeySequence, t.MessageId, t.MessageType, t.Bytes, t.SentUtc, t.Detail
        FROM @dialogs AS d
        CROSS APPLY [etl].[ufn_Trail](d.ConversationId, NULL, NULL, NULL, NULL, @rows) AS t
        ORDER BY t.WhenUtc DESC;
    WHILE @one = 1 AND @dialog IS NOT NULL AND @depth < 25
    BEGIN
        INSERT INTO @dialogs (ConversationId, Depth) SELECT @dialog, @depth WHERE NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.ConversationId = @dialog);
        INSERT INTO @events (WhenUtc, Rank, Step, Place, ConversationId, MessageSequence, ConversationKey, KeySequence, MessageId, MessageType, Bytes, SentUtc, Detail)
        SELECT t.WhenUtc, t.Rank, t.Step, t.Place, t.ConversationId, t.MessageSequence, t.ConversationKey, t.KeySequence, t.MessageId, t.MessageType, t.Bytes, t.SentUtc, t.Detail
        FROM [etl].[ufn_Trail](@dialog, @number, NULL, NULL, NULL, @rows) AS t
        WHERE ISNULL(t.MessageType, N'') NOT IN (N'EndOfStream',
        N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
        N'http://schemas.microsoft.com/SQL/ServiceBroker/Error') OR @rowVersion IS NOT NULL
        OPTION (RECOMPILE);             /* what is NULL is not sought */
        INSERT INTO @events (WhenUtc, Rank, Step, Place, ConversationId, MessageSequence)
        SELECT cl.BegunUtc, 11, N'sent again', N'sender''s side', @dialog, @number
        FROM [etl].[ConversationLog] AS cl WITH (NOLOCK) WHERE cl.ConversationId = @dialog AND @depth > 0;
        SELECT @nextDialog = s.ConversationId, @nextNumber = s.MessageSequence FROM (VALUES (1)) AS o(One) OUTER APPLY [etl].[ufn_SentAgain](@dialog, @number, @rows) AS s;
        SELECT @dialog = @nextDialog, @number = @nextNumber, @depth += 1;
    END;
    IF @one = 1 AND @first IS NOT NULL
        SELECT TOP (1) @messageId = e.MessageId, @key = CASE WHEN e.KeySequence IS NOT NULL THEN e.ConversationKey END, @keySequence = e.KeySequence
        FROM @events AS e
        ORDER BY e.MessageId DESC;
    IF @messageId IS NOT NULL OR @key IS NOT NULL
        INSERT INTO @events (WhenUtc, Rank, Step, Place, ConversationId, MessageSequence, ConversationKey, KeySequence, MessageId, MessageType, Bytes, SentUtc, Detail)
        SELECT TOP (999) t.WhenUtc, t.Rank, t.Step, t.Place, t.ConversationId, t.MessageSequence, t.ConversationKey, t.KeySequence, t.MessageId, t.MessageType, t.Bytes, t.SentUtc, t.Detail
        FROM [etl].[ufn_Trail](NULL, NULL, @messageId, @key, @keySequence, @rows) AS t
        WHERE NOT EXISTS (SELECT 1 FROM @events AS e WHERE e.Place = t.Place AND e.ConversationId = t.ConversationId AND e.MessageSequence = t.MessageSequence)
        ORDER BY t.WhenUtc DESC
        OPTION (RECOMPILE);             /* as above */
    INSERT INTO @events (WhenUtc, Rank, Step, Place, Detail)
    SELECT TOP (10) ol.AddedUtc, 70, N'purge', N'OperatorLog', CONCAT(ol.Action, N' ', ol.Detail, N', by ', ol.Login, N': ' + ol.Reason)
    FROM [etl].[OperatorLog] AS ol WITH (NOLOCK) WHERE ol.Action = N'purge dead letters' AND @deadLetterId IS NOT NULL AND @first IS NULL
    ORDER BY ol.OperatorLogId DESC;

    /* ---- 3  Its dialogs: one look at all endpoints, for both sides ---- */
    INSERT INTO @dialogs (ConversationId)
    SELECT DISTINCT e.ConversationId FROM @events AS e
    WHERE e.ConversationId IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.ConversationId = e.ConversationId);
    UPDATE d
    SET Handle = e.Handle, TargetHandle = e.TargetHandle, States = e.States, IsOpen = e.IsOpen, Sent = e.Sent, Arrived = e.Arrived, Status = GET_TRANSMISSION_STATUS(e.Handle)
    FROM @dialogs AS d
    INNER JOIN [etl].[ufn_Sides]() AS e ON e.ConversationId = d.ConversationId;
    INSERT INTO @events (WhenUtc, Rank, Step, Place, ConversationId, ConversationKey, Detail)
    SELECT t.WhenUtc, t.Rank, t.Step, t.Place, t.ConversationId, t.ConversationKey, t.Detail
    FROM @dialogs AS d
    CROSS APPLY [etl].[ufn_DialogTrail](d.ConversationId, d.Handle, d.TargetHandle) AS t
    WHERE t.MessageSequence IS NULL OR @one = 0 OR EXISTS (SELECT 1 FROM @events AS e WHERE e.ConversationId = t.ConversationId AND e.MessageSequence = t.MessageSequence);

    /* ---- 4  Where it is now. The target's endpoint counts what has reached its queue ---- */
    INSERT INTO @events (Rank, Step, Place, ConversationId, MessageSequence, Detail)
    SELECT 90, CASE w.IsThere WHEN 1 THEN N'in the target''s queue' WHEN 2 THEN N'left behind' ELSE N'on its way' END,
        CASE w.IsThere WHEN 1 THEN N'TargetQueue' WHEN 2 THEN N'SentMessage' ELSE N'transmission queue' END, e.ConversationId, e.MessageSequence,
        CASE w.IsThere WHEN 2 THEN N'Its dialog is over: a reader, usp_ResendStranded or usp_Resend sends it again.'
            ELSE CONCAT(CASE w.IsThere WHEN 1 THEN N'Or just being read.' ELSE N'It has not reached the target''s queue.' + N' Status of the last transmission: ' + NULLIF(d.Status, N'') END,
                CASE WHEN q.is_receive_enabled = 0 THEN N' The queue is off: usp_StartQueue.' END, CASE WHEN q.is_activation_enabled = 0 THEN N' Its activation is off: nobody is started to read it.' END) END
    FROM @events AS e
    INNER JOIN @dialogs AS d ON d.ConversationId = e.ConversationId
    CROSS APPLY (SELECT CASE WHEN ISNULL(d.IsOpen, 0) = 0 THEN 2 WHEN d.Arrived > e.MessageSequence THEN 1 ELSE 0 END AS IsThere) AS w
    LEFT OUTER JOIN sys.service_queues AS q ON q.object_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ')
    WHERE e.Step = N'copied';
    INSERT INTO @events (Rank, Step, Place, ConversationId, Detail)
    SELECT 95, N'now', N'endpoints', d.ConversationId, d.States FROM @dialogs AS d WHERE d.States <> N'';
    INSERT INTO @events (WhenUtc, Rank, Step, Place, ConversationId, MessageSequence)
    SELECT MIN(e.SentUtc), 15, N'sent', N'sender''s side', @first, @sequence FROM @events AS e WHERE @one = 1 AND e.SentUtc IS NOT NULL HAVING COUNT(*) > 0;

    /* ---- 5  The verdict ---- */
    SELECT @landed = ISNULL(SUM(CASE WHEN e.Step = N'landed' AND (@rowVersion IS NOT NULL OR e.MessageType NOT IN (N'EndOfStream',
        N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
        N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')) THEN 1 ELSE 0 END), 0),
        @copies = ISNULL(SUM(CASE e.Step WHEN N'copied' THEN 1 ELSE 0 END), 0), @queued = ISNULL(SUM(CASE e.Step WHEN N'in the target''s queue' THEN 1 ELSE 0 END), 0),
        @letters = ISNULL(SUM(CASE WHEN e.Step = N'dead letter' THEN 1 WHEN e.Place = N'DeadLetter' THEN -1 ELSE 0 END), 0)
    FROM @events AS e;
    SELECT @sent = SUM(ISNULL(cl.Messages, d.Sent))
    FROM @dialogs AS d LEFT OUTER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK) ON cl.ConversationId = d.ConversationId
    WHERE (d.ConversationId = @first OR (@one = 0 AND cl.ResendOf IS NULL)) AND ISNULL(cl.Messages, d.Sent) IS NOT NULL;
    /* READPAST sees only what is committed, and waits for nobody. */
    IF @one = 1 AND @copies > 0 AND NOT EXISTS (SELECT 1 FROM @events AS e INNER JOIN [etl].[SentMessage] AS sm WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK)
                                                    ON sm.ConversationId = e.ConversationId AND sm.MessageSequence = e.MessageSequence
                                                WHERE e.Step = N'copied')
        SET @isOpen = 1;
    IF @one = 0
        SELECT @code = CASE WHEN @letters > 0 THEN 3 WHEN @copies > 0 THEN 2 WHEN @landed > 0 THEN 0 WHEN @sent > 0 THEN 4 ELSE 4 END,
            @word = CASE WHEN @letters > 0 THEN N'dead letters' WHEN @copies > 0 THEN N'pending' WHEN @landed > 0 THEN N'landed' WHEN @sent > 0 THEN N'gone' ELSE N'not known here' END,
            @says = CONCAT(@landed, N' landed, ', @copies - @queued, N' on their way, ', @queued, N' in the target''s queue, ', @letters, N' dead letters', N', of ' + CONVERT(nvarchar(20), @sent) + N' sent', N'.',
                CASE WHEN (SELECT COUNT(*) FROM @events AS e WHERE e.MessageType IS NOT NULL) >= 999 THEN N' The list was cut after the last 999.' END);
    ELSE
        SELECT TOP (1) @word = w.Word, @code = w.Code, @says = w.Says
        FROM (VALUES
            (1, @landed, N'landed', 0, CONCAT(N'It has landed', CASE WHEN EXISTS (SELECT 1 FROM @events AS e WHERE e.Step = N'replayed') THEN N', after a replay' WHEN @landed > 1 THEN N', more than once: it was sent again, by us or by its caller' END, N'.')),
            (2, @isOpen, N'pending', 2, N'It is being sent or moved by a transaction that is still open.'),
            (3, @queued, N'in the target''s queue', 2, N'It waits in the target''s queue, or is just being read.'),
            (4, @copies, N'pending', 2, N'It has not landed, and its copy is kept. Next: the last steps above, then usp_Health.'),
            (5, @letters, N'dead letter', 3, N'It is a dead letter. Next: remove the cause, then usp_ReplayDeadLetter.'),
            (6, (SELECT COUNT(*) FROM @events AS e WHERE e.Step = N'given up' OR (e.Place = N'DeadLetter' AND e.Step NOT IN (N'dead letter', N'replayed'))), N'given up', 3, N'An operator has given it up: see the steps above, and OperatorLog.'),
            (7, (SELECT COUNT(*) FROM @events AS e WHERE e.Step = N'skipped'), N'skipped', 0, N'It was a repeat of a message that had landed, and was dropped.'),
            (8, (SELECT COUNT(*) FROM @events AS e WHERE e.Step = N'id kept'), N'landed', 0, N'Its id says that it has landed; the row was removed, or is further back in Landing.'),
            (9, (SELECT COUNT(*) FROM @events AS e WHERE e.Step = N'replayed'), N'replayed', 4, N'It was a dead letter and was replayed; what became of it then is not to be found.'),
            (10, (SELECT COUNT(*) FROM [etl].[ConversationLog] AS p WITH (NOLOCK) INNER JOIN [etl].[ConversationLog] AS cl WITH (NOLOCK) ON cl.ResendOf IN (p.Handle, p.ConversationId) WHERE p.ConversationId = @first AND @depth = 1 AND @sequence < @sent), N'sent again', 4, N'It may have been sent again with others: on which number is not known. Next: ask for each dialog above.'),
            (11, CASE WHEN @sequence < @sent THEN 1 END, N'gone', 4, N'It was sent, has no copy and is no dead letter: it has landed, and its row was removed or is further back, or it was a repeat that was dropped.'),
            (12, CASE WHEN @sequence >= @sent THEN 1 END, N'never sent', 4, CONCAT(N'The dialog has sent ', @sent, N' messages, numbered from 0.')),
            (13, 1, N'not known here', 4, N'Nothing of it is here: it was never sent or its transaction rolled back, or it is older than what is kept. Its caller can tell: usp_Send raises an error where it does not send.')
        ) AS w(Rank, Holds, Word, Code, Says)
        WHERE w.Holds > 0
        ORDER BY w.Rank;

    IF @code = 4
        SET @says = CONCAT(@says, N' Kept here: landed rows 14 days, dialogs 30 days, dead letters that were replayed for ever, ids 7 days.', N' Looked at: the last ', @rows, N' rows of what has no index for this.');
    INSERT INTO @events (Rank, Step, Place, Detail) VALUES (255, N'verdict', @word, @says);
    SELECT e.WhenUtc, e.Step, e.Place, e.ConversationId, e.MessageSequence, e.ConversationKey, e.KeySequence, e.MessageId, e.MessageType, e.Bytes, e.Detail
    FROM @events AS e
    LEFT OUTER JOIN @dialogs AS d ON d.ConversationId = e.ConversationId
    ORDER BY CASE WHEN e.WhenUtc IS NULL THEN 1 ELSE 0 END, e.WhenUtc, ISNULL(d.Depth, e.Rank), e.Rank, e.MessageSequence, e.EventId;
    RETURN @code;
END;
GO
/* Nothing is signed. What an earlier deployment with security.signing = "certificate" made is dropped. */
SET XACT_ABORT ON;

DECLARE @signer sysname = NULL;

BEGIN TRANSACTION;

DECLARE @oldSigner sysname;
DECLARE @dropSigner nvarchar(max);
/* Asked anew each time, no cursor: outside a transaction each DROP commits, and CURSOR_CLOSE_ON_COMMIT
   may be on (F-372). */
WHILE 1 = 1
BEGIN
    SET @oldSigner = NULL;
    SELECT TOP (1) @oldSigner = ct.name
    FROM sys.certificates AS ct
    WHERE LEFT(ct.name, LEN(N'redial_etl_signing_')) = N'redial_etl_signing_'
      AND LEN(ct.name) = LEN(N'redial_etl_signing_') + 36   /* a GUID behind it: no other configuration's */
      AND ct.name <> ISNULL(@signer, N'')
    ORDER BY ct.name;
    IF @oldSigner IS NULL
        BREAK;

    SET @dropSigner = NULL;
    SELECT TOP (1) @dropSigner = CONCAT(N'DROP SIGNATURE FROM ', QUOTENAME(OBJECT_SCHEMA_NAME(cp.major_id)),
        N'.', QUOTENAME(OBJECT_NAME(cp.major_id)), N' BY CERTIFICATE ', QUOTENAME(@oldSigner), N';')
    FROM sys.crypt_properties AS cp
    INNER JOIN sys.certificates AS ct ON ct.thumbprint = cp.thumbprint
    WHERE ct.name = @oldSigner AND cp.class = 1;

    IF @dropSigner IS NULL
    BEGIN
        IF DATABASE_PRINCIPAL_ID(@oldSigner) IS NOT NULL
            SET @dropSigner = CONCAT(N'ALTER ROLE [db_owner] DROP MEMBER ', QUOTENAME(@oldSigner),
                N'; DROP USER ', QUOTENAME(@oldSigner), N'; ');
        SET @dropSigner = CONCAT(@dropSigner, N'DROP CERTIFICATE ', QUOTENAME(@oldSigner), N';');
    END;

    EXECUTE sys.sp_executesql @dropSigner;
END;

COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER VIEW [etl].[vw_Conversations]
AS
/* Redial 0.1.0, configuration etl */
/* Both sides of every conversation of this configuration; columns: see ufn_Conversations. */
SELECT
    f.Side, f.ConversationHandle, f.ConversationId, f.State, f.Purpose, f.ConversationKey, f.BegunUtc,
    f.AgeSeconds, f.EndOfStreamUtc, f.Sent, f.Received, f.TimerDue, f.LifetimeUtc, f.ClosedUntilUtc, f.Priority
FROM [etl].[ufn_Conversations]() AS f;
GO
CREATE OR ALTER VIEW [etl].[vw_DeadLetterCauses]
AS
/* Redial 0.1.0, configuration etl */
/* Dead letters by cause: side, code, message type, and how the reason begins. From the first number or quoted value
   on, reasons of one cause differ. ExampleId is the first letter nobody has handled, else the last one.
   Code, MessageType and ReasonLike are a filter of usp_ReplayDeadLetter, usp_MarkDeadLetter and usp_PurgeDeadLetter
   (NULL: 0, N''). Keys: NULL, no message of this configuration carries its key. Of the
   last 100,000 letters; OlderLeftOut 1: there are more. NOLOCK: it waits for nobody. */
SELECT
    c.Side, c.Code, c.MessageType, c.ReasonLike, x.Reason AS ExampleReason, c.Letters, c.Unhandled, c.FirstUtc, c.LastUtc,
    c.FirstId, c.LastId, c.Conversations, c.Keys, c.ExampleId,
    CONVERT(bit, CASE WHEN EXISTS (SELECT 1 FROM [etl].[DeadLetter] AS o WITH (NOLOCK) WHERE o.DeadLetterId < c.LowestId) THEN 1 ELSE 0 END) AS OlderLeftOut
FROM
(
    SELECT
        g.Side, g.Code, g.MessageType, g.ReasonLike, g.Letters, g.Unhandled, g.FirstUtc, g.LastUtc, g.FirstId, g.LastId,
        g.Conversations, g.Keys, CONVERT(bigint, CASE WHEN g.Unhandled > 0 THEN g.FirstUnhandled ELSE g.LastId END) AS ExampleId,
        MIN(g.FirstId) OVER () AS LowestId
    FROM
    (
        SELECT
            r.Side, r.Code, r.MessageType, r.ReasonLike, COUNT_BIG(*) AS Letters,
            SUM(CASE WHEN r.HandledUtc IS NULL THEN 1 ELSE 0 END) AS Unhandled,
            MIN(r.AddedUtc) AS FirstUtc, MAX(r.AddedUtc) AS LastUtc, MIN(r.DeadLetterId) AS FirstId, MAX(r.DeadLetterId) AS LastId,
            MIN(CASE WHEN r.HandledUtc IS NULL THEN r.DeadLetterId ELSE 9223372036854775807 END) AS FirstUnhandled,
            COUNT(DISTINCT r.ConversationHandle) AS Conversations,
            CONVERT(int, NULL) AS Keys
        FROM
        (
            SELECT TOP (100000)
                dl.DeadLetterId, dl.AddedUtc, dl.HandledUtc, dl.Side, dl.Code, dl.MessageType, dl.ConversationHandle,
                REPLACE(REPLACE(REPLACE(CASE WHEN h.Cut > 0 THEN LEFT(h.Beginning, h.Cut - 1) ELSE h.Beginning END, N'[', N'[[]'), N'%', N'[%]'), N'_', N'[_]')
                    + CASE WHEN h.Cut > 0 THEN N'[0-9''"]%' WHEN LEN(dl.Reason) > 100 THEN N'_%' ELSE N'' END AS ReasonLike
            FROM [etl].[DeadLetter] AS dl WITH (NOLOCK)
            CROSS APPLY (SELECT LEFT(ISNULL(dl.Reason, N''), 100) AS Beginning, PATINDEX(N'%[0-9''"]%', LEFT(ISNULL(dl.Reason, N''), 100)) AS Cut) AS h
            ORDER BY dl.DeadLetterId DESC
        ) AS r
        GROUP BY r.Side, r.Code, r.MessageType, r.ReasonLike
    ) AS g
) AS c
LEFT OUTER JOIN [etl].[DeadLetter] AS x WITH (NOLOCK) ON x.DeadLetterId = c.ExampleId;
GO
CREATE OR ALTER VIEW [etl].[vw_Errors]
AS
/* Redial 0.1.0, configuration etl */
/* What went wrong, from every table that says so; order it by HappenedUtc yourself. NOLOCK: whoever
   watches must not wait for a reader that is just writing an error down.
   Source: error (ErrorLog), poison (a row that made its transaction roll back), dead letter (without
   its body). Dialogs that ended with an Error message: vw_FailedConversations. */
SELECT
    el.AddedUtc AS HappenedUtc, N'error' AS Source, el.ProcedureName AS ObjectName, el.ConversationHandle,
    el.MessageSequence, el.ErrorNumber AS Code, el.ErrorMessage AS ErrorText
FROM [etl].[ErrorLog] AS el WITH (NOLOCK)
UNION ALL
SELECT
    pa.LastUtc, N'poison', pa.MessageType, pa.ConversationHandle, pa.MessageSequence, pa.ErrorNumber,
    CONCAT(pa.Attempts, N' rollback(s): ', pa.ErrorMessage)
FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.Attempts > 0   /* 0: the mark of a batch in a hook (F-163) */
  AND pa.MessageSequence <> -5     /* counts refusals, which are dead letters */
UNION ALL
SELECT
    dl.AddedUtc, N'dead letter', dl.MessageType, dl.ConversationHandle, dl.MessageSequence, dl.Code, dl.Reason
FROM [etl].[DeadLetter] AS dl WITH (NOLOCK);
GO
CREATE OR ALTER VIEW [etl].[vw_FailedConversations]
AS
/* Redial 0.1.0, configuration etl */
/* Dialogs that ended with an Error message; what was lost by it, if anything, is in DeadLetter too.
   Reads all of ConversationLog, a row for every dialog of the last [retention].log_days: not for a
   screen that asks every few seconds, vw_Errors is. There is no index for it on purpose: who reads by
   it under READ COMMITTED could deadlock with activation, which writes by the clustered key (F-127);
   and a filtered one would refuse senders with ANSI_WARNINGS or ANSI_PADDING OFF (1934). NOLOCK: as in
   vw_Errors. */
SELECT
    cl.EndedUtc, cl.Code, cl.Reason, cl.Handle AS ConversationHandle, cl.ConversationId, cl.ConversationKey,
    cl.BegunUtc, cl.Messages, cl.Resent, cl.DeadLettered
FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)
WHERE cl.Code <> 0
  AND cl.EndedUtc IS NOT NULL;
GO
CREATE OR ALTER VIEW [etl].[vw_Pending]
AS
/* Redial 0.1.0, configuration etl */
/* Dialogs with messages that have not reached their queue, at most 10,000, and what the server says is in the way;
   see ufn_Pending. What has not landed for any reason: vw_Unlanded.
   StatusKind, by the server's texts (English, German ... servers give 'other'): not tried, queue off,
   busy, no service, no route, broker off, access, far side ended, other. */
SELECT
    f.ConversationHandle, f.MessageSequence, f.MessageType, f.IsEndOfDialog, f.IsError, f.EnqueuedUtc,
    f.WaitingSeconds, f.ToService,
    CASE WHEN ISNULL(f.TransmissionStatus, N'') = N'' THEN N'not tried'
         WHEN f.TransmissionStatus LIKE N'%queue%disabled%' THEN N'queue off'
         WHEN f.TransmissionStatus LIKE N'%busy%' THEN N'busy'
         WHEN f.TransmissionStatus LIKE N'%broker%disabled%' OR f.TransmissionStatus LIKE N'%broker is not enabled%' THEN N'broker off'
         WHEN f.TransmissionStatus LIKE N'%no service by that name%' OR f.TransmissionStatus LIKE N'%could not find the target broker%' THEN N'no service'
         WHEN f.TransmissionStatus LIKE N'%route%' THEN N'no route'
         WHEN f.TransmissionStatus LIKE N'%security context%' OR f.TransmissionStatus LIKE N'%permission%'
             OR f.TransmissionStatus LIKE N'%master key%' OR f.TransmissionStatus LIKE N'%certificate%' THEN N'access'
         WHEN f.TransmissionStatus LIKE N'%end dialog%' OR f.TransmissionStatus LIKE N'%error message%' THEN N'far side ended'
         ELSE N'other' END AS StatusKind,
    f.TransmissionStatus,
    CONVERT(nvarchar(200), NULL) AS ConversationKey, CONVERT(bigint, NULL) AS KeySequence, CONVERT(uniqueidentifier, NULL) AS MessageId
FROM [etl].[ufn_Pending]() AS f;
GO
CREATE OR ALTER VIEW [etl].[vw_Queues]
AS
/* Redial 0.1.0, configuration etl */
/* The two queues of this configuration, without reading them; columns: see ufn_Queues. */
SELECT
    f.Side, f.QueueName, f.Messages, f.IsReceiveEnabled, f.IsEnqueueEnabled, f.IsActivationEnabled,
    f.ActivationProcedure, f.MaxReaders, f.IsRetentionEnabled, f.IsPoisonMessageHandlingEnabled
FROM [etl].[ufn_Queues]() AS f;
GO
/* operations.notify_queue_off is false: what an earlier choice made goes. */
DECLARE @property int;
SET XACT_ABORT ON;
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ') AND n.name = N'redial_etl_trouble')
    DROP EVENT NOTIFICATION [redial_etl_trouble] ON QUEUE [etl].[InitiatorQueue];
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[etl].[TargetQueue]', N'SQ') AND n.name = N'redial_etl_trouble')
    DROP EVENT NOTIFICATION [redial_etl_trouble] ON QUEUE [etl].[TargetQueue];

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/etl/trouble')
                 AND ep.name = N'Redial.made')
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/etl/trouble')
                     AND ep.name = N'Redial.made')
    BEGIN
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
            @level0type = N'SERVICE', @level0name = N'redial/etl/trouble';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    DROP SERVICE [redial/etl/trouble];
    COMMIT TRANSACTION;
END;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[etl].[TroubleQueue]'))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
        @level0name = N'etl', @level1type = N'QUEUE', @level1name = N'TroubleQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    DROP QUEUE [etl].[TroubleQueue];
    COMMIT TRANSACTION;
END;

GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'cb921dde8c51202a 4', @level0type = N'SCHEMA', @level0name = N'etl';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
