SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [orders].[vw_DeadLetters]
AS
/* Redial 0.1.0, configuration orders */
/* Dead letters without their bodies: who may list them need not be allowed to read what was sent.
   HandledUtc NULL: nobody has replayed it yet. Key, number and id are out of the header in front of the body. NOLOCK: never waits for a reader that is adding one. */
SELECT
    dl.DeadLetterId, dl.AddedUtc, dl.Side, dl.ConversationId, dl.ConversationHandle, dl.MessageSequence,
    dl.MessageType, dl.Code, dl.Reason, dl.HandledUtc, dl.HandledBy, dl.Handling, dl.HandlingReason,
    DATALENGTH(dl.Body) AS BodyBytes,
    e.ConversationKey, e.KeySequence, e.MessageId
FROM [orders].[DeadLetter] AS dl WITH (NOLOCK)
CROSS APPLY [orders].[ufn_ReadEnvelope](SUBSTRING(dl.Body, 1, 1300)) AS e;
GO
