SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Principals may be shared by configurations: each leaves its own mark, and the last one out drops. */
DECLARE @property int;
SET XACT_ABORT ON;
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl'));
IF DATABASE_PRINCIPAL_ID(N'etl_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_module')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
IF DATABASE_PRINCIPAL_ID(N'etl_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_sender')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_sender';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
IF DATABASE_PRINCIPAL_ID(N'etl_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_operator')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_operator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
IF DATABASE_PRINCIPAL_ID(N'etl_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_reader')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl')))
BEGIN
    EXECUTE @property = sys.sp_addextendedproperty @name = @mark, @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_reader';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO
