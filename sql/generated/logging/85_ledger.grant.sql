SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Sending in pieces that may be run again: the sender's procedures, the operator's look and purge. The
   table itself is nobody else's: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[logging].[usp_BeginPartition] TO [logging_sender];
GRANT EXECUTE ON OBJECT::[logging].[usp_EndPartition] TO [logging_sender];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeSendLedger] TO [logging_operator];
GRANT SELECT ON OBJECT::[logging].[SendLedger] TO [logging_operator];
GO
