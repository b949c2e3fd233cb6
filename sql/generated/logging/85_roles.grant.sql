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
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[logging].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'logging_sender', N'logging_operator', N'logging_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'logging')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'logging'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Send] TO [logging_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[logging].[usp_ResendPending] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ResendStranded] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_CloseEverlasting] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[ConversationLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[DeadLetter] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[DeploymentHistory] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[ErrorLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Gate] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Migration] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[OperatorLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[PoisonAttempt] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Setting] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_DeadLetters] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Unlanded] TO [logging_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[logging].[ConversationLog] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[Landing] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[vw_Unlanded] TO [logging_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[logging].[usp_SendBatch] TO [logging_sender];
GRANT EXECUTE ON TYPE::[logging].[MessageBatch] TO [logging_sender];
GRANT SELECT, INSERT ON OBJECT::[logging].[Outbox] TO [logging_sender];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Health] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_CheckHealth] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Conversations] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Queues] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Pending] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Errors] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_FailedConversations] TO [logging_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Drain] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_OpenGate] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_EndLeaked] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ReplayDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Resend] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_StartQueue] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ReorganizeQueue] TO [logging_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[logging].[usp_AcknowledgeLanding] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[LandingAcknowledged] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[LandingAcknowledged] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_AcknowledgeLanding] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeLogs] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeLanding] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgePoison] TO [logging_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[logging].[DeploymentAttempt] TO [logging_operator];

WHILE EXISTS (SELECT 1 FROM @denied)
BEGIN
    SELECT TOP (1) @deny = d.Statement FROM @denied AS d ORDER BY d.Ordinal;
    DELETE FROM @denied WHERE Statement = @deny;
    EXECUTE sys.sp_executesql @deny;
    PRINT CONCAT(N'Left as it was: ', @deny);
END;
COMMIT TRANSACTION;
GO
