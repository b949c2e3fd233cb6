SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* POISON_MESSAGE_HANDLING stays on with up to four readers: no path of ours rolls a RECEIVE back in normal
   work, so five rollbacks mean a fault that must stop the queue rather than spin (F-118). Five readers or more
   may reach five together when the disk is full (F-488): there it is off. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE QUEUE [orders].[InitiatorQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE [orders].[usp_Mark] N'QUEUE', N'InitiatorQueue';
    COMMIT TRANSACTION;
END;
IF OBJECT_ID(N'[orders].[TargetQueue]', N'SQ') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE QUEUE [orders].[TargetQueue]
        WITH STATUS = ON, RETENTION = OFF, POISON_MESSAGE_HANDLING (STATUS = ON);
    EXECUTE [orders].[usp_Mark] N'QUEUE', N'TargetQueue';
    COMMIT TRANSACTION;
END;
GO
