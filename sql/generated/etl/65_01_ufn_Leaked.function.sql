SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
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
