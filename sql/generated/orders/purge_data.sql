SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;

IF OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;
DROP TABLE IF EXISTS [orders].[ConversationLog];
DROP TABLE IF EXISTS [orders].[DeadLetter];
DROP TABLE IF EXISTS [orders].[DeploymentHistory];
DROP TABLE IF EXISTS [orders].[ErrorLog];
DROP TABLE IF EXISTS [orders].[Gate];
DROP TABLE IF EXISTS [orders].[IdleWatch];
DROP TABLE IF EXISTS [orders].[KeySequence];
DROP TABLE IF EXISTS [orders].[Landing];
DROP TABLE IF EXISTS [orders].[LandingAcknowledged];
DROP TABLE IF EXISTS [orders].[Migration];
DROP TABLE IF EXISTS [orders].[OperatorLog];
DROP TABLE IF EXISTS [orders].[OwnedObject];
DROP TABLE IF EXISTS [orders].[PoisonAttempt];
DROP TABLE IF EXISTS [orders].[SessionConversations];
DROP TABLE IF EXISTS [orders].[Setting];
/* A role somebody is a member of is somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'orders_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'orders_sender'))
BEGIN
    DROP ROLE [orders_sender];
END;

IF DATABASE_PRINCIPAL_ID(N'orders_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'orders_operator'))
BEGIN
    DROP ROLE [orders_operator];
END;

IF DATABASE_PRINCIPAL_ID(N'orders_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'orders_reader'))
BEGIN
    DROP ROLE [orders_reader];
END;

IF SCHEMA_ID(N'orders') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'orders'))
   AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'orders'))
   AND EXISTS (SELECT 1 FROM sys.schemas AS s
               WHERE s.name = N'orders'
                 AND s.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    DROP SCHEMA [orders];
END;

IF DATABASE_PRINCIPAL_ID(N'orders_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'orders_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [orders_module];
    DROP USER [orders_module];
END;
GO
