SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Sending in pieces that may be run again: the sender's procedures, the operator's look and purge. The
   table itself is nobody else's: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[etl].[usp_BeginPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_EndPartition] TO [etl_sender];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeSendLedger] TO [etl_operator];
GRANT SELECT ON OBJECT::[etl].[SendLedger] TO [etl_operator];
GO
