SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Readers say how far they are; operators purge what all have read. */
GRANT EXECUTE ON OBJECT::[orders].[usp_AcknowledgeLanding] TO [orders_reader];
GRANT SELECT ON OBJECT::[orders].[LandingAcknowledged] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_AcknowledgeLanding] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgeLanding] TO [orders_operator];
GRANT EXECUTE ON OBJECT::[orders].[usp_PurgePoison] TO [orders_operator];
GO
