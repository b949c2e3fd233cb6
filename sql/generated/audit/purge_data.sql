SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;

IF OBJECT_ID(N'[audit].[InitiatorQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;
DROP TABLE IF EXISTS [audit].[ConversationLog];
DROP TABLE IF EXISTS [audit].[DeadLetter];
DROP TABLE IF EXISTS [audit].[DeploymentHistory];
DROP TABLE IF EXISTS [audit].[ErrorLog];
DROP TABLE IF EXISTS [audit].[Gate];
DROP TABLE IF EXISTS [audit].[IdleWatch];
DROP TABLE IF EXISTS [audit].[Landing];
DROP TABLE IF EXISTS [audit].[LandingAcknowledged];
DROP TABLE IF EXISTS [audit].[Migration];
DROP TABLE IF EXISTS [audit].[OperatorLog];
DROP TABLE IF EXISTS [audit].[OwnedObject];
DROP TABLE IF EXISTS [audit].[PoisonAttempt];
DROP TABLE IF EXISTS [audit].[SessionConversations];
DROP TABLE IF EXISTS [audit].[Setting];
/* A role somebody is a member of is somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'audit_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_sender'))
BEGIN
    DROP ROLE [audit_sender];
END;

IF DATABASE_PRINCIPAL_ID(N'audit_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_operator'))
BEGIN
    DROP ROLE [audit_operator];
END;

IF DATABASE_PRINCIPAL_ID(N'audit_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'audit_reader'))
BEGIN
    DROP ROLE [audit_reader];
END;

IF SCHEMA_ID(N'audit') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'audit'))
   AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'audit'))
   AND EXISTS (SELECT 1 FROM sys.schemas AS s
               WHERE s.name = N'audit'
                 AND s.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    DROP SCHEMA [audit];
END;

IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'audit_module'))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'audit_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [audit_module];
    DROP USER [audit_module];
END;
GO
