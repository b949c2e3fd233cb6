SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [audit_sender];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_sender';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [audit_operator];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_operator';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [audit_reader];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_reader';
    COMMIT TRANSACTION;
END;
GO
