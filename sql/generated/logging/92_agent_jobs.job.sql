SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* SQL Server Agent jobs, where there is an Agent and we may make jobs; else what to schedule instead.
   Every command is safe at any time and as often as you like. A job's name carries the database, and
   is in OwnedObject for uninstall. Deploying again sets commands and schedule; owner, and enabled or not,
   stay as you left them. Engine edition 4 is Express, which has the procedures in msdb and no Agent (F-174).
   - Owner: a member of sysadmin makes jobs for sa (SID 0x01, whatever its name) that run as the module
     user, so nothing runs as whoever happened to deploy, nor stops when that login goes. Anybody else can
     only make jobs of his own, which run as himself (page sp_add_jobstep, @database_user_name).
   - Step 1, in master: on a secondary of an availability group it fails, and that ends the job with
     success. Where there is no group it answers NULL. */
DECLARE @jobs TABLE (Task nvarchar(60) NOT NULL PRIMARY KEY, Command nvarchar(400) NOT NULL, Minutes int NOT NULL);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @guard nvarchar(600) = CONCAT(N'IF sys.fn_hadr_is_primary_replica(N''', REPLACE(DB_NAME(), N'''', N''''''),
    N''') = 0 THROW 50227, N''This is a secondary replica: the job runs on the primary. Nothing to do here.'', 1;');
DECLARE @mayAll bit = ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0);
DECLARE @owner nvarchar(128) = SUSER_SNAME();
DECLARE @user nvarchar(128) = NULL;
DECLARE @task nvarchar(60);
DECLARE @command nvarchar(400);
DECLARE @minutes int;
DECLARE @often nvarchar(40);
DECLARE @subday int;
DECLARE @start int;
DECLARE @job nvarchar(128);
DECLARE @note nvarchar(2048);
IF @mayAll = 1
    SELECT @owner = ISNULL(SUSER_SNAME(0x01), @owner), @user = N'logging_module';

/* Task, command, minutes between two runs; 0: once a day. */
INSERT INTO @jobs (Task, Command, Minutes)
VALUES
    (N'resend stranded', N'EXECUTE [logging].[usp_ResendStranded];', 5),
    (N'health', N'EXECUTE [logging].[usp_CheckHealth];', 15),
    (N'purge landing', N'EXECUTE [logging].[usp_PurgeLanding] @WhatIf = 0;', 0),
    (N'purge poison', N'EXECUTE [logging].[usp_PurgePoison] @WhatIf = 0;', 0),
    (N'purge logs', N'EXECUTE [logging].[usp_PurgeLogs] @WhatIf = 0;', 0),
    (N'purge send ledger', N'EXECUTE [logging].[usp_PurgeSendLedger] @WhatIf = 0;', 0),
    (N'purge dead letters', N'EXECUTE [logging].[usp_PurgeDeadLetter] @reason = N''retention, by agent job'', @WhatIf = 0;', 0);
WHILE EXISTS (SELECT 1 FROM @jobs)
BEGIN
    SELECT TOP (1) @task = j.Task, @command = j.Command, @minutes = j.Minutes FROM @jobs AS j ORDER BY j.Task;
    DELETE FROM @jobs WHERE Task = @task;
    SELECT @job = LEFT(CONCAT(N'Redial logging: ', @task, N', ', @database), 128),
        @often = CASE @minutes WHEN 0 THEN N'once a day' ELSE CONCAT(N'every ', @minutes, N' minutes') END,
        @subday = CASE @minutes WHEN 0 THEN 1 ELSE 4 END, @start = CASE @minutes WHEN 0 THEN 31000 ELSE 0 END;

    IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
       OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
       OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
    BEGIN
        SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, ', @often, N': sqlcmd -d "', @database, N'" -b -I -Q "', @command, N'"');
        PRINT @note;
        CONTINUE;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration logging')
           AND NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @owner_login_name = @owner, @description = N'Redial 0.1.0, configuration logging';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'primary replica only', @subsystem = N'TSQL',
                @database_name = N'master', @command = @guard, @on_success_action = 3, @on_fail_action = 1;
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 2, @step_name = @task, @subsystem = N'TSQL',
                @database_name = @database, @database_user_name = @user, @command = @command;
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
            IF @mayAll = 0
                PRINT CONCAT(N'Job "', @job, N'" belongs to ', @owner, N', who deploys, and runs as that login. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job with another @owner_login_name, if it should outlive the login.');
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = N'master', @command = @guard;
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 2, @database_name = @database, @command = @command;
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
        END;

        IF NOT EXISTS (SELECT 1 FROM [logging].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            INSERT INTO [logging].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(), N' Schedule yourself, ', @often, N': ', @command), 2048);
        PRINT @note;
        CONTINUE;
    END CATCH;
END;
GO
