SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER FUNCTION [logging].[ufn_Pending]()
RETURNS @pending TABLE
(
    ConversationHandle uniqueidentifier NOT NULL,
    MessageSequence bigint NOT NULL,
    MessageType nvarchar(256) NULL,
    IsEndOfDialog bit NOT NULL,
    IsError bit NOT NULL,
    EnqueuedUtc datetime NOT NULL,
    WaitingSeconds int NULL,
    ToService nvarchar(256) NULL,
    StatusKind nvarchar(20) NOT NULL,       /* see below */
    TransmissionStatus nvarchar(4000) NULL,
    ConversationKey nvarchar(200) NULL,     /* of the header in front of the body, if it has one */
    KeySequence bigint NULL,
    MessageId uniqueidentifier NULL
)
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Behind vw_Pending: messages of this configuration that have not reached their queue, and what the
   server says is in the way. What has not landed for any reason: vw_Unlanded. Of bodies nothing is
   read. At most 10,000 rows: a watcher must not read 30 million of them. No row at all where the
   module user is no member of db_owner (F-113); usp_Health says so.
   StatusKind, by the server's texts (English, German ... servers give 'other'): not tried, queue off,
   busy, no service, no route, broker off, access, far side ended, other. */
BEGIN
    INSERT INTO @pending
        (ConversationHandle, MessageSequence, MessageType, IsEndOfDialog, IsError, EnqueuedUtc, WaitingSeconds,
         ToService, StatusKind, TransmissionStatus)
    SELECT TOP (10000)
        tq.conversation_handle, tq.message_sequence_number, tq.message_type_name, tq.is_end_of_dialog,
        tq.is_conversation_error, tq.enqueue_time, DATEDIFF(second, tq.enqueue_time, GETUTCDATE()),
        tq.to_service_name,
        CASE WHEN ISNULL(tq.transmission_status, N'') = N'' THEN N'not tried'
             WHEN tq.transmission_status LIKE N'%queue%disabled%' THEN N'queue off'
             WHEN tq.transmission_status LIKE N'%busy%' THEN N'busy'
             WHEN tq.transmission_status LIKE N'%broker%disabled%' OR tq.transmission_status LIKE N'%broker is not enabled%' THEN N'broker off'
             WHEN tq.transmission_status LIKE N'%no service by that name%' OR tq.transmission_status LIKE N'%could not find the target broker%' THEN N'no service'
             WHEN tq.transmission_status LIKE N'%route%' THEN N'no route'
             WHEN tq.transmission_status LIKE N'%security context%' OR tq.transmission_status LIKE N'%permission%'
                 OR tq.transmission_status LIKE N'%master key%' OR tq.transmission_status LIKE N'%certificate%' THEN N'access'
             WHEN tq.transmission_status LIKE N'%end dialog%' OR tq.transmission_status LIKE N'%error message%' THEN N'far side ended'
             ELSE N'other' END,
        tq.transmission_status
    FROM sys.transmission_queue AS tq WITH (NOLOCK)     /* waits for nobody; may show what rolls back */
    WHERE tq.from_service_name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target');

    RETURN;
END;
GO
