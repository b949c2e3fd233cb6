SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [orders].[vw_Pending]
AS
/* Redial 0.1.0, configuration orders */
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
FROM [orders].[ufn_Pending]() AS f;
GO
