SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_Mark]
    @kind nvarchar(30),     /* TABLE, QUEUE, TYPE of this schema; MESSAGE TYPE, CONTRACT, SERVICE, USER (a role too) */
    @name sysname,
    @made bit = 1           /* 0: it may have been there before; this configuration uses it */
AS
/* Redial 0.1.0, configuration audit.
   For deployments only. Marks what one has made (Redial.made) and, on what configurations can share, that
   this one uses it (Redial.user.<id of its schema>). Called in the transaction that makes the object: a
   mark that cannot be set ends both. sp_addextendedproperty raises and returns, which ends no batch,
   XACT_ABORT or not (F-361), so its return code is asked for. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @property int;
    DECLARE @user sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'audit'));

    IF @kind IN (N'TABLE', N'QUEUE', N'TYPE')
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
            @level0type = N'SCHEMA', @level0name = N'audit', @level1type = @kind, @level1name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
        RETURN;
    END;

    IF @made = 1
    BEGIN
        EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
            @level0type = @kind, @level0name = @name;
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;

    /* Marked by an earlier deployment? Names of the broker's objects are compared byte for byte (F-376). */
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.name = @user AND ep.class = CASE @kind WHEN N'USER' THEN 4 WHEN N'MESSAGE TYPE' THEN 15 WHEN N'CONTRACT' THEN 16 ELSE 17 END
                 AND ep.major_id = CASE @kind
                     WHEN N'USER' THEN DATABASE_PRINCIPAL_ID(@name)
                     WHEN N'MESSAGE TYPE' THEN (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name)
                     WHEN N'CONTRACT' THEN (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name)
                     ELSE (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = @name) END)
        RETURN;
    EXECUTE @property = sys.sp_addextendedproperty @name = @user, @value = N'audit',
        @level0type = @kind, @level0name = @name;
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
END;
GO
