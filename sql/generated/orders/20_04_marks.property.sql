SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Principals may be shared by configurations: each leaves its own mark, and the last one out drops. */
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders'));
IF DATABASE_PRINCIPAL_ID(N'orders_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_addextendedproperty @name = @mark, @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_module';
IF DATABASE_PRINCIPAL_ID(N'orders_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_sender')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_addextendedproperty @name = @mark, @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_sender';
IF DATABASE_PRINCIPAL_ID(N'orders_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_operator')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_addextendedproperty @name = @mark, @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_operator';
IF DATABASE_PRINCIPAL_ID(N'orders_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_reader')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_addextendedproperty @name = @mark, @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_reader';
GO
