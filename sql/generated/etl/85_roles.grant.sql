SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Who may do what. A DENY on what is granted here was decided by somebody, and GRANT would take it away (F-505):
   it is given back in the same transaction, so nobody is let in meanwhile. */
SET XACT_ABORT ON;
DECLARE @deny nvarchar(1200);
DECLARE @denied TABLE (Ordinal int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Statement nvarchar(1200) NOT NULL);
INSERT INTO @denied (Statement)
SELECT CONCAT(N'DENY ', p.permission_name COLLATE DATABASE_DEFAULT, N' ON ',
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[etl].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'etl_sender', N'etl_operator', N'etl_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'etl')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'etl'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Send] TO [etl_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[etl].[usp_ResendPending] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ResendStranded] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[ConversationLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[DeadLetter] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[DeploymentHistory] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[ErrorLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Gate] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Migration] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[OperatorLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[PoisonAttempt] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Setting] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_DeadLetters] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Unlanded] TO [etl_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[etl].[ConversationLog] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[Landing] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[vw_Unlanded] TO [etl_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[etl].[usp_SendBatch] TO [etl_sender];
GRANT EXECUTE ON TYPE::[etl].[MessageBatch] TO [etl_sender];
GRANT SELECT, INSERT ON OBJECT::[etl].[Outbox] TO [etl_sender];
/* Sending in pieces that may be run again: the sender's procedures, the operator's look and purge. The
   table itself is nobody else's: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[etl].[usp_BeginPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeSendLedger] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[SendLedger] TO [etl_operator];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Health] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_CheckHealth] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Conversations] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Queues] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Pending] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Errors] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_FailedConversations] TO [etl_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Drain] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_OpenGate] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndLeaked] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_RetireIdle] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReplayDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Resend] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_StartQueue] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReorganizeQueue] TO [etl_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[etl].[usp_AcknowledgeLanding] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[LandingAcknowledged] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[LandingAcknowledged] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_AcknowledgeLanding] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeLogs] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeInbox] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeLanding] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgePoison] TO [etl_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[etl].[DeploymentAttempt] TO [etl_operator];

WHILE EXISTS (SELECT 1 FROM @denied)
BEGIN
    SELECT TOP (1) @deny = d.Statement FROM @denied AS d ORDER BY d.Ordinal;
    DELETE FROM @denied WHERE Statement = @deny;
    EXECUTE sys.sp_executesql @deny;
    PRINT CONCAT(N'Left as it was: ', @deny);
END;
COMMIT TRANSACTION;
GO
