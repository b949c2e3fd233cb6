SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_TakeTurn]
    @take bit                           /* 1: wait for the turn, 10 seconds at most; 0: give it back */
AS
/* Redial 0.1.0, configuration orders */
/* The turn to roll back. A reader keeps it until it has committed something: readers that meet doomed rows
   together would reach five rollbacks in a row, and the queue would go off. The session's lock, for
   it outlives the rollback. Of the module user: for a lock of everybody's (public) anybody could ask.
   Returns 0 or more with the turn, -1 without: refused or timed out, and then on without it. Not asked for
   after a deadlock: the others wait for what is held here. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @turn int = -1;
    DECLARE @name nvarchar(60) = CONCAT(N'Redial poison ', OBJECT_ID(N'[orders].[TargetQueue]'));

    BEGIN TRY
        IF @take = 1
            EXECUTE @turn = sys.sp_getapplock @Resource = @name, @LockMode = N'Exclusive',
                @LockOwner = N'Session', @LockTimeout = 10000, @DbPrincipal = N'orders_module';
        ELSE
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Session', @DbPrincipal = N'orders_module';
    END TRY
    BEGIN CATCH
        SET @turn = -1;
    END CATCH;

    RETURN @turn;
END;
GO
