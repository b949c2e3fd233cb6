SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* POISON_MESSAGE_HANDLING stays on: no path of ours rolls a RECEIVE back in normal work, so five
   rollbacks mean a fault that must stop the queue rather than spin (F-118). */
IF OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE QUEUE [etl].[InitiatorQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'QUEUE', @level1name = N'InitiatorQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
IF OBJECT_ID(N'[etl].[TargetQueue]', N'SQ') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE QUEUE [etl].[TargetQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'QUEUE', @level1name = N'TargetQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
