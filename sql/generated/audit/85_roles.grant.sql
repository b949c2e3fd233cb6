SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The application's whole right. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Send] TO [audit_sender];
GO
GRANT EXECUTE ON OBJECT::[audit].[usp_ResendPending] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_EndLeaked] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeadLetter] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[ErrorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[PoisonAttempt] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[DeploymentHistory] TO [audit_operator];
GO
GRANT SELECT ON OBJECT::[audit].[Landing] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[ConversationLog] TO [audit_reader];
GO
