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
    CASE p.class WHEN 6 THEN N'TYPE' ELSE N'OBJECT' END, N'::', N'[orders].',
    QUOTENAME(CASE p.class WHEN 6 THEN TYPE_NAME(p.major_id) ELSE OBJECT_NAME(p.major_id) END), N' TO ', QUOTENAME(dp.name), N';')
FROM sys.database_permissions AS p
INNER JOIN sys.database_principals AS dp ON dp.principal_id = p.grantee_principal_id
WHERE p.state = 'D' AND p.minor_id = 0
  AND dp.name IN (N'orders_sender', N'orders_operator', N'orders_reader')
  AND ((p.class = 1 AND OBJECT_SCHEMA_NAME(p.major_id) = N'orders')
       OR (p.class = 6 AND p.major_id IN (SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'orders'))));
BEGIN TRANSACTION;
/* The application's whole right: to send. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Send] TO [orders_sender];
/* Operators send again what is left, and look at the tables. */
GRANT EXECUTE ON OBJECT::[orders].[usp_ResendPending] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ResendStranded] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[ConversationLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[DeadLetter] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[DeploymentHistory] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[ErrorLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Gate] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Migration] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[OperatorLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[PoisonAttempt] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Setting] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_DeadLetters] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Unlanded] TO [orders_operator];
/* Readers read what landed, and what has not. */
GRANT SELECT ON OBJECT::[orders].[ConversationLog] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[Landing] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[vw_Unlanded] TO [orders_reader];
/* EXECUTE on the type: who fills a table-valued parameter declares a variable of it. SELECT on Outbox, which
   shows no row ever: tools that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[orders].[usp_SendBatch] TO [orders_sender];
GRANT EXECUTE ON TYPE::[orders].[MessageBatch] TO [orders_sender];
GRANT SELECT, INSERT ON OBJECT::[orders].[Outbox] TO [orders_sender];
/* What operators look at. The functions behind the views need no grant of their own: views and functions
   have one owner. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Health] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_CheckHealth] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Conversations] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Queues] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Pending] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Errors] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_FailedConversations] TO [orders_operator];
/* What operators call. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Drain] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_OpenGate] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_EndLeaked] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_RetireIdle] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ReplayDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Resend] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_StartQueue] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ReorganizeQueue] TO [orders_operator];
/* Readers say how far they are, and look what was purged; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[orders].[usp_AcknowledgeLanding] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[LandingAcknowledged] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[LandingAcknowledged] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_AcknowledgeLanding] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeLogs] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeLanding] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgePoison] TO [orders_operator];
/* What was tried, when and by whom. */
GRANT SELECT ON OBJECT::[orders].[DeploymentAttempt] TO [orders_operator];

WHILE EXISTS (SELECT 1 FROM @denied)
BEGIN
    SELECT TOP (1) @deny = d.Statement FROM @denied AS d ORDER BY d.Ordinal;
    DELETE FROM @denied WHERE Statement = @deny;
    EXECUTE sys.sp_executesql @deny;
    PRINT CONCAT(N'Left as it was: ', @deny);
END;
COMMIT TRANSACTION;
GO
