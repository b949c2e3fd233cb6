SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER VIEW [etl].[vw_Errors]
AS
/* Redial 0.1.0, configuration etl */
/* What went wrong, from every table that says so; order it by HappenedUtc yourself. NOLOCK: whoever
   watches must not wait for a reader that is just writing an error down.
   Source: error (ErrorLog), poison (a row that made its transaction roll back), dead letter (without
   its body). Dialogs that ended with an Error message: vw_FailedConversations. */
SELECT
    el.AddedUtc AS HappenedUtc, N'error' AS Source, el.ProcedureName AS ObjectName, el.ConversationHandle,
    el.MessageSequence, el.ErrorNumber AS Code, el.ErrorMessage AS ErrorText
FROM [etl].[ErrorLog] AS el WITH (NOLOCK)
UNION ALL
SELECT
    pa.LastUtc, N'poison', pa.MessageType, pa.ConversationHandle, pa.MessageSequence, pa.ErrorNumber,
    CONCAT(pa.Attempts, N' rollback(s): ', pa.ErrorMessage)
FROM [etl].[PoisonAttempt] AS pa WITH (NOLOCK)
WHERE pa.Attempts > 0   /* 0: the mark of a batch in a hook (F-163) */
UNION ALL
SELECT
    dl.AddedUtc, N'dead letter', dl.MessageType, dl.ConversationHandle, dl.MessageSequence, dl.Code, dl.Reason
FROM [etl].[DeadLetter] AS dl WITH (NOLOCK);
GO
