SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators call and look at. The functions behind the views need no grant of their own: views and
   functions have one owner. */
GRANT EXECUTE ON OBJECT::[orders].[usp_Drain] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_OpenGate] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Health] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_RetireIdle] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ReplayDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeDeadLetter] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeLogs] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_Resend] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_StartQueue] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_ReorganizeQueue] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_CheckHealth] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Conversations] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Queues] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Pending] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Unlanded] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_Errors] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_FailedConversations] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[vw_DeadLetters] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Gate] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[OperatorLog] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Migration] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[Setting] TO [orders_operator];
GO
