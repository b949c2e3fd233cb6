SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What operators call and look at. The functions behind the views need no grant of their own: views and
   functions have one owner. */
GRANT EXECUTE ON OBJECT::[audit].[usp_Drain] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_OpenGate] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Health] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_RetireIdle] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ReplayDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeDeadLetter] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLogs] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_Resend] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_StartQueue] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_ReorganizeQueue] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_CheckHealth] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Conversations] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Queues] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Pending] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Unlanded] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_Errors] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_FailedConversations] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[vw_DeadLetters] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Gate] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[OperatorLog] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Migration] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[Setting] TO [audit_operator];
GO
