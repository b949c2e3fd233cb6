SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [logging].[vw_Unlanded]
AS
/* Redial 0.1.0, configuration logging */
/* Messages that were sent and have not landed, without their bodies.
   Status: pending (it is on its way, or waits to be sent again), dead letter (until it is replayed).
   NOLOCK: whoever watches must neither wait for senders nor make them wait. */
SELECT
    N'pending' AS Status, sm.SentUtc AS SinceUtc, sm.ConversationId, sm.MessageSequence, sm.MessageType,
    CONVERT(nvarchar(200), NULL) AS ConversationKey, CONVERT(bigint, NULL) AS KeySequence, CONVERT(uniqueidentifier, NULL) AS MessageId,
    CONVERT(bigint, NULL) AS DeadLetterId
FROM [logging].[SentMessage] AS sm WITH (NOLOCK)
UNION ALL
SELECT
    N'dead letter' AS Status, dl.AddedUtc AS SinceUtc, dl.ConversationId, dl.MessageSequence, dl.MessageType,
    dl.ConversationKey, dl.KeySequence, dl.MessageId, dl.DeadLetterId
FROM [logging].[vw_DeadLetters] AS dl
WHERE dl.HandledUtc IS NULL;
GO
