SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'orders_sender') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [orders_sender];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_sender';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'orders_operator') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [orders_operator];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_operator';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'orders_reader') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [orders_reader];
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_reader';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
