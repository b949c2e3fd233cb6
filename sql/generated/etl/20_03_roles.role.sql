SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'etl_sender') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [etl_sender];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_sender';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'etl_operator') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [etl_operator];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_operator';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'etl_reader') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [etl_reader];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'USER', @level0name = N'etl_reader';
    COMMIT TRANSACTION;
END;
GO
