SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'logging_sender') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [logging_sender];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'USER', @level0name = N'logging_sender';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'logging_operator') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [logging_operator];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'USER', @level0name = N'logging_operator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'logging_reader') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [logging_reader];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'USER', @level0name = N'logging_reader';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
