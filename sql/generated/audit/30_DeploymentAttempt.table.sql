SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What redial deploy and redial rollback have tried: a row before the first change (at a first installation
   behind this table), its outcome afterwards. One that is still "running" while nobody holds the lock of
   deployments was cut off; the next calls it "abandoned". The last 200 are kept. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[DeploymentAttempt]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[DeploymentAttempt]
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
    EXECUTE [audit].[usp_Mark] N'TABLE', N'DeploymentAttempt';
    COMMIT TRANSACTION;
END;
GO
