SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [orders].[vw_Pending]
AS
/* Redial 0.1.0, configuration orders */
/* Messages that have not reached their queue, at most 10,000, without bodies; columns: see ufn_Pending. */
SELECT
    f.ConversationHandle, f.MessageSequence, f.MessageType, f.IsEndOfDialog, f.IsError, f.EnqueuedUtc,
    f.WaitingSeconds, f.ToService, f.StatusKind, f.TransmissionStatus, f.ConversationKey, f.KeySequence, f.MessageId
FROM [orders].[ufn_Pending]() AS f;
GO
