"""System procedures of SQL Server that the embedded broker knows by name and does not have."""

REFUSED_PROCEDURES = frozenset({
    "sp_rename", "sp_settriggerorder", "sp_configure", "sp_dboption", "sp_helpdb", "sp_help",
    "sp_helpindex", "sp_lock", "sp_monitor", "sp_recompile", "sp_refreshview",
    "sp_refreshsqlmodule", "sp_depends", "sp_spaceused", "sp_tableoption", "sp_updatestats",
    "sp_createstats", "sp_autostats", "sp_changedbowner", "sp_adduser", "sp_addlogin",
    "sp_addrole", "sp_dropuser", "sp_droplogin", "sp_droprole", "sp_grantdbaccess",
    "sp_revokedbaccess", "sp_addtype", "sp_droptype", "sp_addlinkedserver",
    "sp_addlinkedsrvlogin", "sp_serveroption", "sp_procoption", "sp_send_dbmail", "sp_add_job",
    "sp_add_jobstep", "sp_add_jobschedule", "sp_add_jobserver", "sp_start_job", "sp_stop_job",
    "sp_delete_job", "sp_update_job", "sp_add_schedule", "sp_attach_schedule", "sp_cycle_errorlog",
    "sp_readerrorlog", "sp_trace_create", "sp_trace_setevent", "sp_trace_setstatus",
    "sp_trace_generateevent", "sp_invoke_external_rest_endpoint", "sp_oacreate",
    "sp_xml_preparedocument", "sp_xml_removedocument", "sp_getbindtoken", "sp_bindsession",
    "sp_cursor", "sp_cursoropen", "sp_cursorprepare", "sp_cursorexecute", "sp_cursorfetch",
    "sp_cursoroption", "sp_cursorclose", "sp_cursorunprepare", "sp_cursorprepexec",
    "sp_estimate_data_compression_savings", "sp_MSforeachtable", "sp_msforeachdb",
    "xp_cmdshell", "xp_readerrorlog", "xp_logevent", "xp_sprintf", "xp_regread", "xp_msver",
    "xp_fixeddrives", "xp_dirtree", "xp_fileexist", "xp_instance_regread",
})
"""Lower-case names; calling one gives the refusal that names it."""
