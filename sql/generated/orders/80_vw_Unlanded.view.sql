SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [orders].[vw_Unlanded]
AS
/* Redial 0.1.0, configuration orders */
/* Messages that were sent and have not landed, without their bodies; and numbers of a key that will not land.
   Status: pending (it is on its way, or waits to be sent again), dead letter (until it is replayed), repeat (a client's
   retry, which was dropped), given up (a dead letter that an operator has removed).
   Who reads by KeySequence and misses a number looks here, and then in Landing once more: a number that is
   in neither has landed in between or was never given.
   NOLOCK: whoever watches must neither wait for senders nor make them wait. */
SELECT
    N'pending' AS Status, sm.SentUtc AS SinceUtc, sm.ConversationId, sm.MessageSequence, sm.MessageType,
    e.ConversationKey, e.KeySequence, e.MessageId,
    CONVERT(bigint, NULL) AS DeadLetterId
FROM [orders].[SentMessage] AS sm WITH (NOLOCK)
CROSS APPLY [orders].[ufn_ReadEnvelope](SUBSTRING(sm.Body, 1, 1300)) AS e     -- noqa: AL05
UNION ALL
SELECT
    N'dead letter' AS Status, dl.AddedUtc AS SinceUtc, dl.ConversationId, dl.MessageSequence, dl.MessageType,
    dl.ConversationKey, dl.KeySequence, dl.MessageId, dl.DeadLetterId
FROM [orders].[vw_DeadLetters] AS dl
WHERE dl.HandledUtc IS NULL
UNION ALL
SELECT
    sn.Reason, sn.SkippedUtc, NULL, NULL, NULL, sn.ConversationKey, sn.KeySequence, sn.MessageId, NULL
FROM [orders].[SkippedNumber] AS sn WITH (NOLOCK);
GO
