SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [logging].[vw_DeadLetters]
AS
/* Redial 0.1.0, configuration logging */
/* Dead letters without their bodies: who may list them need not be allowed to read what was sent.
   HandledUtc NULL: nobody has replayed it yet. NOLOCK: never waits for a reader that is adding one. */
SELECT
    dl.DeadLetterId, dl.AddedUtc, dl.Side, dl.ConversationId, dl.ConversationHandle, dl.MessageSequence,
    dl.MessageType, dl.Code, dl.Reason, dl.HandledUtc, dl.HandledBy, dl.Handling, dl.HandlingReason,
    DATALENGTH(dl.Body) AS BodyBytes,
    CONVERT(nvarchar(200), NULL) AS ConversationKey, CONVERT(bigint, NULL) AS KeySequence, CONVERT(uniqueidentifier, NULL) AS MessageId
FROM [logging].[DeadLetter] AS dl WITH (NOLOCK);
GO
