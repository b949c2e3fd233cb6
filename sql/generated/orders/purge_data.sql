SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */

DECLARE @lacks nvarchar(200) = NULL;
DECLARE @refusal nvarchar(2048);
IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL'), 0) = 0
    SET @lacks = N'CONTROL on the database';
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = N'Redial.db_owner')
    SET @lacks = N'membership in db_owner (only members change that role, and a member is to be taken out)';
IF @lacks IS NOT NULL
BEGIN
    SET @refusal = REPLACE(CONCAT(N'User ', QUOTENAME(USER_NAME()), N' of database ', QUOTENAME(DB_NAME()),
        N' cannot remove configuration orders. Missing: ', @lacks,
        N'. Nothing was done. Next: have a member of db_owner run purge_data.sql, or let one run ALTER ROLE [db_owner] ADD MEMBER ',
        QUOTENAME(USER_NAME()), N';'), N'%', N'%%');   /* F-133 */
    THROW 50200, @refusal, 1;
END;

IF OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ') IS NOT NULL OR OBJECT_ID(N'[orders].[TargetQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;

DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders'));

/* Every table of every choice. */
DROP TABLE IF EXISTS [orders].[ConversationLog];
DROP TABLE IF EXISTS [orders].[DeadLetter];
DROP TABLE IF EXISTS [orders].[DeploymentHistory];
DROP TABLE IF EXISTS [orders].[ErrorLog];
DROP TABLE IF EXISTS [orders].[Everlasting];
DROP TABLE IF EXISTS [orders].[Gate];
DROP TABLE IF EXISTS [orders].[IdleWatch];
DROP TABLE IF EXISTS [orders].[Inbox];
DROP TABLE IF EXISTS [orders].[KeySequence];
DROP TABLE IF EXISTS [orders].[Landing];
DROP TABLE IF EXISTS [orders].[LandingAcknowledged];
DROP TABLE IF EXISTS [orders].[Migration];
DROP TABLE IF EXISTS [orders].[OperatorLog];
DROP TABLE IF EXISTS [orders].[OwnedObject];
DROP TABLE IF EXISTS [orders].[PoisonAttempt];
DROP TABLE IF EXISTS [orders].[SessionConversations];
DROP TABLE IF EXISTS [orders].[Setting];

/* What was there before the first deployment has no mark and stays. A role somebody is a member of is
   somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'orders_sender') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_sender')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'orders_sender';
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_sender')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_sender')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'orders_sender'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_sender')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'orders_sender';
        DROP ROLE [orders_sender];
    END;
    COMMIT TRANSACTION;
END;

IF DATABASE_PRINCIPAL_ID(N'orders_operator') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_operator')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'orders_operator';
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_operator')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_operator')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'orders_operator'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_operator')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'orders_operator';
        DROP ROLE [orders_operator];
    END;
    COMMIT TRANSACTION;
END;

IF DATABASE_PRINCIPAL_ID(N'orders_reader') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_reader')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'orders_reader';
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_reader')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_reader')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'orders_reader'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_reader')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'orders_reader';
        DROP ROLE [orders_reader];
    END;
    COMMIT TRANSACTION;
END;

/* The membership first: a user that was there before keeps only what it had. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = N'Redial.db_owner')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'orders_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [orders_module];
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = N'Redial.db_owner')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.db_owner',
        @level0type = N'USER', @level0name = N'orders_module';
END;

/* Schema and user go together or not at all: the mark of the user carries the schema's id. */
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'orders_module';
IF SCHEMA_ID(N'orders') IS NOT NULL
BEGIN
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'orders')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'orders'))
       AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'orders'))
       AND NOT EXISTS (SELECT 1 FROM sys.xml_schema_collections AS x WHERE x.schema_id = SCHEMA_ID(N'orders'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'orders')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'SCHEMA', @level0name = N'orders';
        DROP SCHEMA [orders];
    END
    ELSE IF DATABASE_PRINCIPAL_ID(N'orders_module') IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'orders')
                 AND ep.name = N'Redial.made')
            AND EXISTS (SELECT 1 FROM sys.schemas AS s
                        WHERE s.name = N'orders'
                          AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'orders_module'))
        REVOKE CONTROL ON SCHEMA::[orders] FROM [orders_module];
END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = N'Redial.made')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'orders')))
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'orders_module'))
BEGIN
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'orders_module';
    DROP USER [orders_module];
END;
COMMIT TRANSACTION;
GO
