SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it. */
IF OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;
GO
DROP TABLE IF EXISTS [audit].[ConversationLog];
GO
DROP TABLE IF EXISTS [audit].[DeadLetter];
GO
DROP TABLE IF EXISTS [audit].[DeploymentHistory];
GO
DROP TABLE IF EXISTS [audit].[ErrorLog];
GO
DROP TABLE IF EXISTS [audit].[Landing];
GO
DROP TABLE IF EXISTS [audit].[OwnedObject];
GO
DROP TABLE IF EXISTS [audit].[PoisonAttempt];
GO
DROP TABLE IF EXISTS [audit].[SessionConversations];
GO
/* A role somebody is a member of is somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_sender'))
BEGIN
    DROP ROLE [audit_sender];
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_operator'))
BEGIN
    DROP ROLE [audit_operator];
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_reader'))
BEGIN
    DROP ROLE [audit_reader];
END;
GO
IF SCHEMA_ID(N'audit') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'audit'))
   AND EXISTS (SELECT 1 FROM sys.schemas AS s
               WHERE s.name = N'audit'
                 AND s.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    DROP SCHEMA [audit];
END;
GO
IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    ALTER ROLE [db_owner] DROP MEMBER [audit_module];
    DROP USER [audit_module];
END;
GO
