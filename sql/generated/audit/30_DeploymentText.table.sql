SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The files of the last ten deployments, for redial rollback: a JSON object of texts by name, compressed with
   GZIP, which DECOMPRESS reads. ContentHash is that of DeploymentHistory. Known is what the deployment found
   around it and no file makes (options of the database, its triggers, rights on it), for redial verify. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[audit].[DeploymentText]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[DeploymentText]
    (
        ContentHash char(64) NOT NULL,
        KeptUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeploymentText_KeptUtc] DEFAULT (SYSUTCDATETIME()),
        Files varbinary(max) NOT NULL,
        Known nvarchar(max) NULL,
        CONSTRAINT [PK_DeploymentText] PRIMARY KEY CLUSTERED (ContentHash)
    );
    EXECUTE [audit].[usp_Mark] N'TABLE', N'DeploymentText';
    COMMIT TRANSACTION;
END;
GO
