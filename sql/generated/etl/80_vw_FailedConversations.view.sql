SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [etl].[vw_FailedConversations]
AS
/* Redial 0.1.0, configuration etl */
/* Dialogs that ended with an Error message; what was lost by it, if anything, is in DeadLetter too.
   Reads all of ConversationLog, a row for every dialog of the last [retention].log_days: not for a
   screen that asks every few seconds, vw_Errors is. There is no index for it on purpose: who reads by
   it under READ COMMITTED could deadlock with activation, which writes by the clustered key (F-127);
   and a filtered one would refuse senders with ANSI_WARNINGS or ANSI_PADDING OFF (1934). NOLOCK: as in
   vw_Errors. */
SELECT
    cl.EndedUtc, cl.Code, cl.Reason, cl.Handle AS ConversationHandle, cl.ConversationId, cl.ConversationKey,
    cl.BegunUtc, cl.Messages, cl.Resent, cl.DeadLettered
FROM [etl].[ConversationLog] AS cl WITH (NOLOCK)
WHERE cl.Code <> 0
  AND cl.EndedUtc IS NOT NULL;
GO
