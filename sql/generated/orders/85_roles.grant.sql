SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The application's whole right: to send, one by one or in bulk. EXECUTE on the type: who fills a
   table-valued parameter declares a variable of it. SELECT on Outbox, which shows no row ever: tools
   that write by INSERT ask for its columns first. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Send] TO [orders_sender];
GRANT EXECUTE ON OBJECT::[orders].[usp_SendBatch] TO [orders_sender];
GRANT EXECUTE ON TYPE::[orders].[MessageBatch] TO [orders_sender];
GRANT SELECT, INSERT ON OBJECT::[orders].[Outbox] TO [orders_sender];
GRANT EXECUTE ON OBJECT::[orders].[usp_ResendPending] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ResendStranded] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_EndLeaked] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[ConversationLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[DeadLetter] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[ErrorLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[PoisonAttempt] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[DeploymentHistory] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Landing] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[ConversationLog] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[vw_Unlanded] TO [orders_reader];
GO
