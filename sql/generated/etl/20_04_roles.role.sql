SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Roles, and the module user: configurations may share them, so each leaves its own mark, and the last
   one out drops what was made. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
EXECUTE [etl].[usp_Mark] N'USER', N'etl_module', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'etl_sender') IS NULL
BEGIN
    CREATE ROLE [etl_sender];
    EXECUTE [etl].[usp_Mark] N'USER', N'etl_sender';
END
ELSE
    EXECUTE [etl].[usp_Mark] N'USER', N'etl_sender', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'etl_operator') IS NULL
BEGIN
    CREATE ROLE [etl_operator];
    EXECUTE [etl].[usp_Mark] N'USER', N'etl_operator';
END
ELSE
    EXECUTE [etl].[usp_Mark] N'USER', N'etl_operator', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'etl_reader') IS NULL
BEGIN
    CREATE ROLE [etl_reader];
    EXECUTE [etl].[usp_Mark] N'USER', N'etl_reader';
END
ELSE
    EXECUTE [etl].[usp_Mark] N'USER', N'etl_reader', @made = 0;
COMMIT TRANSACTION;
GO
