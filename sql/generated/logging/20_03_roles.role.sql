SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'logging_sender') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [logging_sender];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'USER', @level0name = N'logging_sender';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'logging_operator') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [logging_operator];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'USER', @level0name = N'logging_operator';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'logging_reader') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [logging_reader];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'USER', @level0name = N'logging_reader';
    COMMIT TRANSACTION;
END;
GO
