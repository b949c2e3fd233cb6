SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF DATABASE_PRINCIPAL_ID(N'orders_sender') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [orders_sender];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_sender';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'orders_operator') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [orders_operator];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_operator';
    COMMIT TRANSACTION;
END;
GO
IF DATABASE_PRINCIPAL_ID(N'orders_reader') IS NULL
BEGIN
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE ROLE [orders_reader];
    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_reader';
    COMMIT TRANSACTION;
END;
GO
