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
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[audit].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'audit_sender', N'audit_operator', N'audit_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'audit')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'audit'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Send] TO [audit_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendPending] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendStranded] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeadLetter] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeploymentHistory] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ErrorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Gate] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Migration] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[OperatorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[PoisonAttempt] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Setting] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_DeadLetters] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Unlanded] TO [audit_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[Landing] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[vw_Unlanded] TO [audit_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[audit].[usp_SendBatch] TO [audit_sender];
GRANT EXECUTE ON TYPE::[audit].[MessageBatch] TO [audit_sender];
GRANT SELECT, INSERT ON OBJECT::[audit].[Outbox] TO [audit_sender];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Health] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_CheckHealth] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Conversations] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Queues] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Pending] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Errors] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_FailedConversations] TO [audit_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Drain] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_OpenGate] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_EndLeaked] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_RetireIdle] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ReplayDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Resend] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_StartQueue] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ReorganizeQueue] TO [audit_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[LandingAcknowledged] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[LandingAcknowledged] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLogs] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgePoison] TO [audit_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[audit].[DeploymentAttempt] TO [audit_operator];

WHILE EXISTS (SELECT 1 FROM @denied)
BEGIN
    SELECT TOP (1) @deny = d.Statement FROM @denied AS d ORDER BY d.Ordinal;
    DELETE FROM @denied WHERE Statement = @deny;
    EXECUTE sys.sp_executesql @deny;
    PRINT CONCAT(N'Left as it was: ', @deny);
END;
COMMIT TRANSACTION;
GO
