SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The application's whole right: to send, one by one or in bulk. EXECUTE on the type: who fills a
   table-valued parameter declares a variable of it. SELECT on Outbox, which shows no row ever: tools
   that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Send] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_SendBatch] TO [etl_sender];
GRANT EXECUTE ON TYPE::[etl].[MessageBatch] TO [etl_sender];
GRANT SELECT, INSERT ON OBJECT::[etl].[Outbox] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_ResendPending] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ResendStranded] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndLeaked] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[ConversationLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[DeadLetter] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[ErrorLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[PoisonAttempt] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[DeploymentHistory] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Landing] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[ConversationLog] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[vw_Unlanded] TO [etl_reader];
GO
