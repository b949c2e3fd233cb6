SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators call and look at. The functions behind the views need no grant of their own: views and
   functions have one owner. */
GRANT EXECUTE ON OBJECT::[etl].[usp_Drain] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_OpenGate] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Health] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_RetireIdle] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReplayDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeDeadLetter] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeLogs] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_Resend] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_StartQueue] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_ReorganizeQueue] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_CheckHealth] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Conversations] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Queues] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Pending] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Unlanded] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_Errors] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_FailedConversations] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[vw_DeadLetters] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Gate] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[OperatorLog] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Migration] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[Setting] TO [etl_operator];
GO
