SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Readers say how far they are; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[logging].[usp_AcknowledgeLanding] TO [logging_reader];
GRANT SELECT ON OBJECT::[logging].[LandingAcknowledged] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_AcknowledgeLanding] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgeLanding] TO [logging_operator];
GRANT EXECUTE ON OBJECT::[logging].[usp_PurgePoison] TO [logging_operator];
GO
