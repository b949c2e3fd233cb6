SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* SQL Server Agent jobs, where there is an Agent and we may make jobs; else what to schedule instead.
   Every command is safe at any time and as often as you like. A job's name carries the database, and
   is in OwnedObject for uninstall. Deploying again sets command and schedule; enabled or not stays as
   you left it. Engine edition 4 is Express, which has the procedures in msdb and no Agent (F-174). */
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: retire, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, every 5 minutes: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'retire', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'retire', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 4, @freq_subday_interval = 5;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'retire', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 4, @freq_subday_interval = 5;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, every 5 minutes: ', N'EXECUTE [etl].[usp_RetireIdle] @WhatIf = 0;'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: health, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, every 15 minutes: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_CheckHealth];', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'health', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_CheckHealth];';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'health', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 4, @freq_subday_interval = 15;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_CheckHealth];';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'health', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 4, @freq_subday_interval = 15;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, every 15 minutes: ', N'EXECUTE [etl].[usp_CheckHealth];'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: purge landing, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, once a day: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_PurgeLanding] @WhatIf = 0;', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'purge landing', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeLanding] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'purge landing', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeLanding] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'purge landing', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, once a day: ', N'EXECUTE [etl].[usp_PurgeLanding] @WhatIf = 0;'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: purge inbox, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, once a day: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'purge inbox', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'purge inbox', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'purge inbox', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, once a day: ', N'EXECUTE [etl].[usp_PurgeInbox] @WhatIf = 0;'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: purge poison, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, once a day: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_PurgePoison] @WhatIf = 0;', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'purge poison', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgePoison] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'purge poison', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgePoison] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'purge poison', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, once a day: ', N'EXECUTE [etl].[usp_PurgePoison] @WhatIf = 0;'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: purge logs, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, once a day: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'purge logs', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'purge logs', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'purge logs', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, once a day: ', N'EXECUTE [etl].[usp_PurgeLogs] @WhatIf = 0;'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
DECLARE @job nvarchar(128) = LEFT(CONCAT(N'Redial etl: purge send ledger, ', DB_NAME()), 128);
DECLARE @database nvarchar(128) = DB_NAME();
DECLARE @note nvarchar(2048);
IF CONVERT(int, SERVERPROPERTY(N'EngineEdition')) IN (4, 5)
   OR OBJECT_ID(N'msdb.dbo.sp_add_job', N'P') IS NULL
   OR ISNULL(HAS_PERMS_BY_NAME(N'msdb.dbo.sp_add_job', N'OBJECT', N'EXECUTE'), 0) = 0
BEGIN
    SET @note = CONCAT(N'No Agent here, or no right to make jobs. Schedule yourself, once a day: sqlcmd -d "', @database, N'" -b -I -Q "',
        N'EXECUTE [etl].[usp_PurgeSendLedger] @WhatIf = 0;', N'"');
    PRINT @note;
END
ELSE
BEGIN
    BEGIN TRY
        BEGIN TRANSACTION;
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j
                   WHERE j.name = @job AND ISNULL(j.description, N'') NOT LIKE N'Redial %, configuration etl')
           AND NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
            THROW 50189, N'a job of this name is there and was not made by this configuration.', 1;
        IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobs_view AS j WHERE j.name = @job)
        BEGIN
            EXECUTE msdb.dbo.sp_add_job @job_name = @job, @description = N'Redial 0.1.0, configuration etl';
            EXECUTE msdb.dbo.sp_add_jobstep @job_name = @job, @step_id = 1, @step_name = N'purge send ledger', @subsystem = N'TSQL',
                @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeSendLedger] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_add_jobschedule @job_name = @job, @name = N'purge send ledger', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
            EXECUTE msdb.dbo.sp_add_jobserver @job_name = @job, @server_name = N'(local)';
        END
        ELSE
        BEGIN
            EXECUTE msdb.dbo.sp_update_jobstep @job_name = @job, @step_id = 1, @database_name = @database, @command = N'EXECUTE [etl].[usp_PurgeSendLedger] @WhatIf = 0;';
            EXECUTE msdb.dbo.sp_update_jobschedule @job_name = @job, @name = N'purge send ledger', @freq_type = 4, @freq_interval = 1,
                @freq_subday_type = 1, @active_start_time = 31000;
        END;

        IF NOT EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'AGENT JOB' AND o.Name = @job)
        BEGIN
            INSERT INTO [etl].[OwnedObject] (Kind, Name) VALUES (N'AGENT JOB', @job);
        END;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Somebody else's job of this name, say. The procedures of msdb raise and return, which ends no
           batch: without TRY the job would count as ours for uninstall. The whole job or none. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @note = LEFT(CONCAT(N'Job "', @job, N'" not made or changed: ', ERROR_MESSAGE(),
            N' Schedule yourself, once a day: ', N'EXECUTE [etl].[usp_PurgeSendLedger] @WhatIf = 0;'), 2048);
        PRINT @note;
    END CATCH;
END;
GO
