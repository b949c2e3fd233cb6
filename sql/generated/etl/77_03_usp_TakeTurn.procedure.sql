SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_TakeTurn]
    @take bit                           /* 1: wait for the turn, 10 seconds at most; 0: give it back */
AS
/* Redial 0.1.0, configuration etl */
/* The turn to roll back, kept until something is committed: readers that meet doomed rows together would reach
   five rollbacks in a row. The session's lock outlives a rollback; of the module user, so that nobody
   else may ask. Returns 0 or more with the turn, -1 without it: refused or timed out, and then on without. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @turn int = -1;
    DECLARE @name nvarchar(60) = CONCAT(N'Redial poison ', OBJECT_ID(N'[etl].[TargetQueue]'));

    BEGIN TRY
        IF @take = 1
            EXECUTE @turn = sys.sp_getapplock @Resource = @name, @LockMode = N'Exclusive',
                @LockOwner = N'Session', @LockTimeout = 10000, @DbPrincipal = N'etl_module';
        ELSE
            EXECUTE sys.sp_releaseapplock @Resource = @name, @LockOwner = N'Session', @DbPrincipal = N'etl_module';
    END TRY
    BEGIN CATCH
        SET @turn = -1;
    END CATCH;

    RETURN @turn;
END;
GO
