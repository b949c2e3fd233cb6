SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [audit_sender];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_sender';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [audit_operator];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_operator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [audit_reader];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_reader';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
