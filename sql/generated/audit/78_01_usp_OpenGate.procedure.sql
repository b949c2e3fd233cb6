SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_OpenGate]
    @reason nvarchar(400) = NULL,       /* why the gate opens: kept in Gate and OperatorLog; required */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Opens the gate that usp_Drain closed: usp_Send sends again. Not one that a deployment has closed and
   not opened (50162). Result set: none. Returns 0. */
BEGIN
    SET NOCOUNT ON;

    IF @Help = 1
    BEGIN
        PRINT N'usp_OpenGate opens the gate that usp_Drain closed, so that usp_Send sends again.
  @reason   why; required; kept with your login in Gate and OperatorLog
  @Debug    1: print each step
Example: EXECUTE [audit].[usp_OpenGate] @reason = N''maintenance is over'';';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50161, N'usp_OpenGate must be called outside a transaction: senders read the gate and would wait for its end.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        THROW 50160, N'@reason must say why, in 1 to 400 characters.', 1;

    BEGIN TRANSACTION;

    UPDATE g
    SET IsOpen = 1,
        ChangedUtc = SYSUTCDATETIME(),
        ChangedBy = ORIGINAL_LOGIN(),
        Reason = @reason
    FROM [audit].[Gate] AS g
        WITH (ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)    /* the one row of this configuration */
    WHERE g.ConfigId = 1;

    /* Asked while the gate's row is ours. 38_change closes it, and 93_settings takes the mark away. */
    IF EXISTS (SELECT 1 FROM [audit].[Setting] AS st WHERE st.Name = N'deployment.gate')
    BEGIN
        ROLLBACK TRANSACTION;           /* a caller's CATCH gets no transaction of ours to end */
        THROW 50162, N'A deployment has closed the gate and has not come to its end: procedures of two choices may be mixed, and the gate stays closed. Next: run redial.sql to its end, with the old choices or the new; it opens the gate.', 1;
    END;

    INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
    VALUES (N'open gate', N'configuration audit', @reason);

    COMMIT TRANSACTION;

    IF @Debug = 1
        PRINT N'The gate is open.';

    RETURN 0;
END;
GO
