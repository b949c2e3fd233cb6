SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [audit].[vw_Conversations]
AS
/* Redial 0.1.0, configuration audit */
/* Both sides of every conversation of this configuration; columns: see ufn_Conversations. */
SELECT
    f.Side, f.ConversationHandle, f.ConversationId, f.State, f.Purpose, f.ConversationKey, f.BegunUtc,
    f.AgeSeconds, f.EndOfStreamUtc, f.Sent, f.Received, f.TimerDue, f.LifetimeUtc, f.ClosedUntilUtc, f.Priority
FROM [audit].[ufn_Conversations]() AS f;
GO
