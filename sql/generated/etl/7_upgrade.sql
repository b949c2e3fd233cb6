/* Redial 0.1.0, configuration etl: 7_upgrade.sql, attempts are written down. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'7_upgrade.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'etl') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'cb921dde8c51202a [6-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'6_retention.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 7_upgrade.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* What redial deploy and redial rollback have tried: a row before the first change (at a first installation
   behind this table), its outcome afterwards. One that is still "running" while nobody holds the lock of
   deployments was cut off; the next calls it "abandoned". The last 200 are kept. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[etl].[DeploymentAttempt]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[DeploymentAttempt]
    (
        AttemptId int IDENTITY (1, 1) NOT NULL,
        StartedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentAttempt_StartedUtc] DEFAULT (SYSUTCDATETIME()),
        EndedUtc datetime2(3) NULL,
        Outcome nvarchar(10) NOT NULL CONSTRAINT [DF_DeploymentAttempt_Outcome] DEFAULT (N'running'),
        What nvarchar(20) NOT NULL,
        StartedBy nvarchar(128) NOT NULL CONSTRAINT [DF_DeploymentAttempt_StartedBy] DEFAULT (ORIGINAL_LOGIN()),
        HostName nvarchar(128) NULL CONSTRAINT [DF_DeploymentAttempt_HostName] DEFAULT (HOST_NAME()),
        ToolVersion nvarchar(30) NOT NULL,
        SourceRevision nvarchar(100) NULL,
        HashBefore char(64) NULL,
        HashAfter char(64) NOT NULL,
        PlannedChanges nvarchar(max) NULL,
        Message nvarchar(2048) NULL,
        CONSTRAINT [PK_DeploymentAttempt] PRIMARY KEY CLUSTERED (AttemptId)
    );
    EXECUTE [etl].[usp_Mark] N'TABLE', N'DeploymentAttempt';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'cb921dde8c51202a 7', @level0type = N'SCHEMA', @level0name = N'etl';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
