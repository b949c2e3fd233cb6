SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_Conversations]()
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
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Behind vw_Conversations. A function, because it may run as the module user: what a catalog view
   shows depends on the rights of whoever reads it, and an operator has none on services and queues (F-172).
   Purpose: in use (senders find its handle in Everlasting), closing (EndOfStream was sent), resend (a private dialog of
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
             WHEN cl.ResendOf IS NOT NULL THEN N'resend'
             WHEN cl.EndOfStreamUtc IS NOT NULL THEN N'closing'
             WHEN ce.conversation_group_id = N'54A9E148-F784-5F6A-830F-1A6F292962F7' THEN N'in use'
             ELSE N'unknown' END,
        cl.ConversationKey, cl.BegunUtc,
        DATEDIFF_BIG(second, cl.BegunUtc, SYSUTCDATETIME()), cl.EndOfStreamUtc,
        ce.send_sequence, ce.receive_sequence,
        NULLIF(ce.dialog_timer, '19000101'), ce.lifetime,
        CASE WHEN ce.state = 'CD' THEN NULLIF(ce.security_timestamp, '19000101') END, ce.priority
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
    LEFT OUTER JOIN [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = ce.conversation_handle
    WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target');

    RETURN;
END;
GO
