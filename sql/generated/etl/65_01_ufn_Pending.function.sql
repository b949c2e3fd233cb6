SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
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
