SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Sending in pieces that may be run again: the sender's procedures, the operator's look and purge. The
   table itself is nobody else's: a row made by hand would keep messages from being sent. */
GRANT EXECUTE ON OBJECT::[orders].[usp_BeginPartition] TO [orders_sender];
GRANT EXECUTE ON OBJECT::[orders].[usp_EndPartition] TO [orders_sender];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeSendLedger] TO [orders_operator];
GRANT SELECT ON OBJECT::[orders].[SendLedger] TO [orders_operator];
GO
