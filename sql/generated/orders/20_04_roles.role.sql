SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Roles, and the module user: configurations may share them, so each leaves its own mark, and the last
   one out drops what was made. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
EXECUTE [orders].[usp_Mark] N'USER', N'orders_module', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'orders_sender') IS NULL
BEGIN
    CREATE ROLE [orders_sender];
    EXECUTE [orders].[usp_Mark] N'USER', N'orders_sender';
END
ELSE
    EXECUTE [orders].[usp_Mark] N'USER', N'orders_sender', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'orders_operator') IS NULL
BEGIN
    CREATE ROLE [orders_operator];
    EXECUTE [orders].[usp_Mark] N'USER', N'orders_operator';
END
ELSE
    EXECUTE [orders].[usp_Mark] N'USER', N'orders_operator', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'orders_reader') IS NULL
BEGIN
    CREATE ROLE [orders_reader];
    EXECUTE [orders].[usp_Mark] N'USER', N'orders_reader';
END
ELSE
    EXECUTE [orders].[usp_Mark] N'USER', N'orders_reader', @made = 0;
COMMIT TRANSACTION;
GO
