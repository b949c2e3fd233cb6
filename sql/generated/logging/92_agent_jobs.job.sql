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
   - One step, in master: on a secondary replica the database itself may let nobody in. */
DECLARE @jobs TABLE (Task nvarchar(60) NOT NULL PRIMARY KEY, Command nvarchar(400) NOT NULL, Minutes int NOT NULL);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @mayAll bit = ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0);
DECLARE @owner nvarchar(128) = SUSER_SNAME();
DECLARE @task nvarchar(60);
DECLARE @command nvarchar(400);
DECLARE @minutes int;
DECLARE @often nvarchar(40);
DECLARE @subday int;
DECLARE @start int;
DECLARE @job nvarchar(128);
DECLARE @note nvarchar(2048);
DECLARE @step nvarchar(max);
IF @mayAll = 1
    SET @owner = ISNULL(SUSER_SNAME(0x01), @owner);

/* Task, command, minutes between two runs; 0: once a day. */
INSERT INTO @jobs (Task, Command, Minutes)
VALUES
    (N'resend stranded', N'EXECUTE [logging].[usp_ResendStranded];', 5),
    (N'health', N'EXECUTE [logging].[usp_CheckHealth];', 15),
    (N'purge landing', N'EXECUTE [logging].[usp_PurgeLanding] @WhatIf = 0;', 0),
    (N'purge poison', N'EXECUTE [logging].[usp_PurgePoison] @WhatIf = 0;', 0),
    (N'purge logs', N'EXECUTE [logging].[usp_PurgeLogs] @WhatIf = 0;', 0),
    (N'purge dead letters', N'EXECUTE [logging].[usp_PurgeDeadLetter] @reason = N''retention, by agent job'', @WhatIf = 0;', 0);
WHILE EXISTS (SELECT 1 FROM @jobs)
BEGIN
    SELECT TOP (1) @task = j.Task, @command = j.Command, @minutes = j.Minutes FROM @jobs AS j ORDER BY j.Task;
    DELETE FROM @jobs WHERE Task = @task;
    SELECT @job = LEFT(CONCAT(N'Redial logging: ', @task, N', ', @database), 128),
        @often = CASE @minutes WHEN 0 THEN N'once a day' ELSE CONCAT(N'every ', @minutes, N' minutes') END,
        @step = CONCAT(N'DECLARE @database sysname = N''', REPLACE(@database, N'''', N''''''), N''', @work nvarchar(max) = N''',
            N'IF IS_SRVROLEMEMBER(N''''sysadmin'''') = 1 EXECUTE AS USER = N''''logging_module'''';', N' ', REPLACE(@command, N'''', N''''''), N''';', N'
DECLARE @primary bit = NULL;
DECLARE @run nvarchar(300) = QUOTENAME(@database) + N''.sys.sp_executesql'';
/* Whoever may not ask (VIEW SERVER STATE) goes by what every login sees, and so does Managed Instance. Only
   "secondary" ends here: a job that cannot tell goes on, and fails where it cannot work. */
IF HAS_PERMS_BY_NAME(NULL, NULL, N''VIEW SERVER STATE'') = 1 AND CONVERT(int, SERVERPROPERTY(N''EngineEdition'')) <> 8
    EXECUTE sys.sp_executesql N''SET @primary = sys.fn_hadr_is_primary_replica(@database);'',
        N''@database sysname, @primary bit OUTPUT'', @database = @database, @primary = @primary OUTPUT;
ELSE IF CONVERT(nvarchar(128), DATABASEPROPERTYEX(@database, N''Updateability'')) = N''READ_ONLY''
        AND EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = @database AND d.group_database_id IS NOT NULL)
    SET @primary = 0;
IF @primary = 0
    PRINT N''This is a secondary replica: the job runs on the primary. Nothing to do here.'';
ELSE
    EXECUTE @run @work;
'),
        @subday = CASE @minutes WHEN 0 THEN 1 ELSE 4 END, @start = CASE @minutes WHEN 0 THEN 31000 ELSE 0 END;

    /* Whoever has no right to them sees none of msdb's procedures. */
    SET @note = CASE WHEN CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5) THEN N'No Agent here.'
                     WHEN ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
                          THEN CONCAT(N'No right to make Agent jobs. A sysadmin can run 92_agent_jobs.job.sql in ', QUOTENAME(@database), N', which makes "', @job, N'".') END;
    IF @note IS NOT NULL
    BEGIN
        SET @note = CONCAT(@note, N' Schedule yourself, ', @often, N': sqlcmd -d "', @database, N'" -b -I -Q "', @command, N'"');
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
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
            IF @mayAll = 0
                PRINT CONCAT(N'Job "', @job, N'" belongs to ', @owner, N', who deploys, and runs as that login. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job with another @owner_login_name, if it should outlive the login.');
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_delete_jobstep @job_name = @job, @step_id = 0;      /* 0: all, of earlier versions too */
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = @task, @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = @subday, @freq_subday_interval = @minutes, @active_start_time = @start;
        END;
        EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = @task, @subsystem = N'TSQL',
            @database_name = N'master', @command = @step, @on_success_action = 1, @on_fail_action = 2;

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

    /* The Agent starts no job whose owner is gone, and says so in its history only. */
    IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job AND SUSER_SNAME(j.owner_sid) IS NULL)
        PRINT CONCAT(N'Job "', @job, N'" belongs to a login that is gone, so it cannot run. Next: a sysadmin runs EXECUTE msdb.dbo.sp_update_job @job_name = N''', REPLACE(@job, N'''', N''''''), N''', @owner_login_name = N''', SUSER_SNAME(0x01), N''';');
END;
GO
