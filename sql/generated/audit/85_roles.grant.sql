SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The application's whole right: to send, one by one or in bulk. EXECUTE on the type: who fills a
   table-valued parameter declares a variable of it. SELECT on Outbox, which shows no row ever: tools
   that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Send] TO [audit_sender];
GRANT EXECUTE ON OBJECT::[audit].[usp_SendBatch] TO [audit_sender];
GRANT EXECUTE ON TYPE::[audit].[MessageBatch] TO [audit_sender];
GRANT SELECT, INSERT ON OBJECT::[audit].[Outbox] TO [audit_sender];
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendPending] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendStranded] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_EndLeaked] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeadLetter] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ErrorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[PoisonAttempt] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeploymentHistory] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Landing] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[vw_Unlanded] TO [audit_reader];
GO
