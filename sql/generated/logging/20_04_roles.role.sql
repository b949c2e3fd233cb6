SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Roles, and the module user: configurations may share them, so each leaves its own mark, and the last
   one out drops what was made. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
EXECUTE [logging].[usp_Mark] N'USER', N'logging_module', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'logging_sender') IS NULL
BEGIN
    CREATE ROLE [logging_sender];
    EXECUTE [logging].[usp_Mark] N'USER', N'logging_sender';
END
ELSE
    EXECUTE [logging].[usp_Mark] N'USER', N'logging_sender', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'logging_operator') IS NULL
BEGIN
    CREATE ROLE [logging_operator];
    EXECUTE [logging].[usp_Mark] N'USER', N'logging_operator';
END
ELSE
    EXECUTE [logging].[usp_Mark] N'USER', N'logging_operator', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'logging_reader') IS NULL
BEGIN
    CREATE ROLE [logging_reader];
    EXECUTE [logging].[usp_Mark] N'USER', N'logging_reader';
END
ELSE
    EXECUTE [logging].[usp_Mark] N'USER', N'logging_reader', @made = 0;
COMMIT TRANSACTION;
GO
