SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The one principal every procedure of this configuration runs as: a user nobody can log in with.
   It owns the schema and the services, so ownership gives it nearly all it needs and the application
   is granted EXECUTE on usp_Send alone. One transaction: what is made is marked as made (F-190). */
DECLARE @property int;
SET XACT_ABORT ON;
BEGIN TRANSACTION;
IF DATABASE_PRINCIPAL_ID(N'audit_module') IS NULL
BEGIN
    CREATE USER [audit_module] WITHOUT LOGIN;
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'USER', @level0name = N'audit_module';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
/* sys.transmission_queue shows no row to anyone outside db_owner (F-113), and only a member cleans up a
   conversation that is CLOSED. Without this membership vw_Pending and usp_Health do not say why a message
   waits, and usp_EndLeaked leaves those; nothing is lost by it, for what is sent again is our own copy.
   The mark says that the membership is ours to take away. */
IF ISNULL(IS_ROLEMEMBER(N'db_owner', N'audit_module'), 0) = 0   /* NULL: may not be seen */
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'audit_module')
                 AND ep.name = N'Redial.db_owner')
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.db_owner', @value = N'audit',
            @level0type = N'USER', @level0name = N'audit_module';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    ALTER ROLE [db_owner] ADD MEMBER [audit_module];
END;
COMMIT TRANSACTION;
GO
