SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [etl].[vw_Unlanded]
AS
/* Redial 0.1.0, configuration etl */
/* Messages that were sent and have not landed, without their bodies.
   Status: pending (it is on its way, or waits to be sent again), dead letter (until it is replayed).
   NOLOCK: whoever watches must neither wait for senders nor make them wait. */
SELECT
    N'pending' AS Status, sm.SentUtc AS SinceUtc, sm.ConversationId, sm.MessageSequence, sm.MessageType,
    e.ConversationKey, e.KeySequence, e.MessageId,
    CONVERT(bigint, NULL) AS DeadLetterId
FROM [etl].[SentMessage] AS sm WITH (NOLOCK)
CROSS APPLY [etl].[ufn_ReadEnvelope](SUBSTRING(sm.Body, 1, 1300)) AS e     -- noqa: AL05
UNION ALL
SELECT
    N'dead letter' AS Status, dl.AddedUtc AS SinceUtc, dl.ConversationId, dl.MessageSequence, dl.MessageType,
    dl.ConversationKey, dl.KeySequence, dl.MessageId, dl.DeadLetterId
FROM [etl].[vw_DeadLetters] AS dl
WHERE dl.HandledUtc IS NULL;
GO
