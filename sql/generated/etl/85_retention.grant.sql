SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Readers say how far they are; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[etl].[usp_AcknowledgeLanding] TO [etl_reader];
GRANT SELECT ON OBJECT::[etl].[LandingAcknowledged] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_AcknowledgeLanding] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeInbox] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgeLanding] TO [etl_operator];
GRANT EXECUTE ON OBJECT::[etl].[usp_PurgePoison] TO [etl_operator];
GO
