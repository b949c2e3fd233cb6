SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Sending in pieces that may be run again: the sender's procedures, the operator's look and purge. The
   table itself is nobody else's: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[audit].[usp_BeginPartition] TO [audit_sender];
GRANT EXECUTE ON OBJECT::[audit].[usp_EndPartition] TO [audit_sender];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeSendLedger] TO [audit_operator];
GRANT SELECT ON OBJECT::[audit].[SendLedger] TO [audit_operator];
GO
