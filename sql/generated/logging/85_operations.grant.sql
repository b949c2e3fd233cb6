SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators call and look at. The functions behind the views need no grant of their own: views and
   functions have one owner. */
GRANT EXECUTE ON OBJECT::[logging].[usp_Drain] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_OpenGate] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Health] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ReplayDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeDeadLetter] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeLogs] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_Resend] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_StartQueue] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_ReorganizeQueue] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_CheckHealth] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Conversations] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Queues] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Pending] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Unlanded] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_Errors] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_FailedConversations] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[vw_DeadLetters] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Gate] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[OperatorLog] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Migration] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[Setting] TO [logging_operator];
GO
