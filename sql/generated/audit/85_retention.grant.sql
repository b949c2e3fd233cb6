SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Readers say how far they are; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_reader];
GRANT SELECT ON OBJECT::[audit].[LandingAcknowledged] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_AcknowledgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgeLanding] TO [audit_operator];
GRANT EXECUTE ON OBJECT::[audit].[usp_PurgePoison] TO [audit_operator];
GO
