SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The application's whole right: to send, one by one or in bulk. EXECUTE on the type: who fills a
   table-valued parameter declares a variable of it. SELECT on Outbox, which shows no row ever: tools
   that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Send] TO [logging_sender];
GRANT EXECUTE ON OBJECT::[logging].[usp_SendBatch] TO [logging_sender];
GRANT EXECUTE ON TYPE::[logging].[MessageBatch] TO [logging_sender];
GRANT SELECT, INSERT ON OBJECT::[logging].[Outbox] TO [logging_sender];
GRANT EXECUTE ON OBJECT::[logging].[usp_ResendPending] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ResendStranded] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_CloseEverlasting] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_EndLeaked] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[ConversationLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[DeadLetter] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[ErrorLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[PoisonAttempt] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[DeploymentHistory] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Landing] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[ConversationLog] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[vw_Unlanded] TO [logging_reader];
GO
