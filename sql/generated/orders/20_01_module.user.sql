SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The one principal every procedure of this configuration runs as: a user nobody can log in with.
   It owns the schema and the services, so ownership gives it nearly all it needs and the application
   is granted EXECUTE on usp_Send alone. One transaction: what is made is marked as made (F-190). */
DECLARE @property int;
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF DATABASE_PRINCIPAL_ID(N'orders_module') IS NULL
BEGIN
    CREATE USER [orders_module] WITHOUT LOGIN;
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'USER', @level0name = N'orders_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
/* In no role: whoever may ALTER one of its procedures has its rights. An earlier choice, or somebody, may
   have made it a member of db_owner. With a signature that waits for the signature, in 79_code_signing. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'orders_module')
                 AND ep.name = N'Redial.db_owner')
BEGIN
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.db_owner',
        @level0type = N'USER', @level0name = N'orders_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
IF IS_ROLEMEMBER(N'db_owner', N'orders_module') = 1
BEGIN
    ALTER ROLE [db_owner] DROP MEMBER [orders_module];
    PRINT N'User [orders_module] is no member of db_owner any more: roles.module_is_db_owner = false. No procedure of ours needs it on a message''s way; a trigger or a hook of yours may need grants.';
END;
COMMIT TRANSACTION;
GO
