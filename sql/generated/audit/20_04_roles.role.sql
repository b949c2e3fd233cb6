SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Roles, and the module user: configurations may share them, so each leaves its own mark, and the last
   one out drops what was made. */
SET XACT_ABORT ON;
BEGIN TRANSACTION;
EXECUTE [audit].[usp_Mark] N'USER', N'audit_module', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NULL
BEGIN
    CREATE ROLE [audit_sender];
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_sender';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_sender', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NULL
BEGIN
    CREATE ROLE [audit_operator];
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_operator';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_operator', @made = 0;
IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NULL
BEGIN
    CREATE ROLE [audit_reader];
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_reader';
END
ELSE
    EXECUTE [audit].[usp_Mark] N'USER', N'audit_reader', @made = 0;
COMMIT TRANSACTION;
GO
