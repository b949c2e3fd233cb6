"""Who sees what: metadata, the transmission queue, DMVs, databases."""


def test_a_user_sees_the_objects_it_has_a_permission_on(admin, login):
    alice = login("alice")
    assert alice.execute("SELECT name FROM sys.objects").rows() == []
    assert alice.execute("SELECT OBJECT_ID('dbo.T')").one() is None
    admin("GRANT EXECUTE ON dbo.usp_Read TO alice")
    assert alice.execute("SELECT name FROM sys.objects").rows() == [("usp_Read",)]
    admin("GRANT VIEW DEFINITION TO alice")
    assert len(alice.execute("SELECT name FROM sys.objects WHERE is_ms_shipped = 0").rows()) == 3


def test_dmvs_need_view_server_state(instance, login, error):
    alice = login("alice")
    assert error(alice, "SELECT * FROM sys.dm_tran_locks") == 300
    instance.connect("master").execute("GRANT VIEW SERVER STATE TO alice")
    assert error(alice, "SELECT * FROM sys.dm_tran_locks") is None
    assert error(alice, "SELECT * FROM sys.dm_broker_queue_monitors") is None


def test_without_it_a_session_sees_itself_only(login):
    alice, bob = login("alice"), login("bob")
    assert bob.id != alice.id
    assert alice.execute("SELECT session_id FROM sys.dm_exec_sessions").rows() == [(alice.id,)]


def test_the_transmission_queue_is_empty_for_all_but_db_owner(admin, login):
    admin("CREATE QUEUE dbo.Q; CREATE SERVICE [//S] ON QUEUE dbo.Q ([DEFAULT])")
    admin(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//S] TO SERVICE '//nowhere' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01)"
    )
    assert admin("SELECT COUNT(*) FROM sys.transmission_queue").one() == 1
    alice = login("alice")
    assert alice.execute("SELECT COUNT(*) FROM sys.transmission_queue").one() == 0
    admin("ALTER ROLE db_owner ADD MEMBER alice")
    assert alice.execute(
        "SELECT to_service_name, message_body FROM sys.transmission_queue"
    ).rows() == [("//nowhere", b"\x01")]


def test_a_login_without_a_user_cannot_enter(instance, admin):
    import pytest

    from redial_broker.engine.errors import SqlError

    instance.connect().execute("CREATE LOGIN eve WITH PASSWORD = 'e-Secret-1', CHECK_POLICY = OFF")
    with pytest.raises(SqlError) as caught:
        instance.login("eve", "e-Secret-1", "App")
    assert caught.value.number == 4060
    admin("CREATE USER eve; DENY CONNECT TO eve")
    with pytest.raises(SqlError):
        instance.login("eve", "e-Secret-1", "App")


def test_a_wrong_password_and_a_disabled_login_are_refused(instance):
    import pytest

    from redial_broker.engine.errors import SqlError

    with pytest.raises(SqlError) as caught:
        instance.login("alice", "wrong", "App")
    assert caught.value.number == 18456
    instance.connect().execute("ALTER LOGIN alice DISABLE")
    with pytest.raises(SqlError):
        instance.login("alice", "a-Secret-1", "App")


def test_impersonation_needs_permission_and_hides_the_server(admin, login, error):
    alice = login("alice")
    assert error(alice, "EXECUTE AS USER = 'bob'") == 15517
    admin("GRANT IMPERSONATE ON USER::bob TO alice")
    assert alice.execute("EXECUTE AS USER = 'bob'; SELECT USER_NAME(); REVERT").one() == "bob"
    answer = admin(
        "EXECUTE AS USER = 'alice'; SELECT HAS_PERMS_BY_NAME(NULL, NULL, "
        "'VIEW SERVER STATE'); REVERT"
    )
    assert answer.one() == 0


def test_execute_shows_a_module_but_not_its_text(admin, login, error):
    admin("GRANT EXECUTE ON dbo.usp_Read TO alice")
    alice = login("alice")
    assert alice.execute("SELECT definition FROM sys.sql_modules").rows() == [(None,)]
    assert alice.execute("SELECT OBJECT_DEFINITION(OBJECT_ID('dbo.usp_Read'))").one() is None
    assert error(alice, "EXEC sp_helptext 'dbo.usp_Read'") == 15197
    for permission in ("VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP"):
        admin(f"GRANT {permission} ON dbo.usp_Read TO alice")
        assert alice.execute("SELECT OBJECT_DEFINITION(OBJECT_ID('dbo.usp_Read'))").one()
        admin(f"REVOKE {permission} ON dbo.usp_Read FROM alice")


def test_a_denied_view_definition_hides_what_other_rights_show(admin, login):
    admin("GRANT SELECT ON dbo.T TO alice; DENY VIEW DEFINITION ON dbo.T TO alice")
    assert login("alice").execute("SELECT OBJECT_ID('dbo.T')").one() is None


def test_broker_definitions_of_users_are_seen_with_a_permission_on_them(admin, login):
    admin("CREATE MESSAGE TYPE [//m]; CREATE CONTRACT [//c] ([//m] SENT BY ANY)")
    alice = login("alice")
    count = "SELECT COUNT(*) FROM sys.service_contracts WHERE name = '//c'"
    assert alice.execute(count).one() == 0
    assert (
        alice.execute("SELECT COUNT(*) FROM sys.service_message_types WHERE name = 'DEFAULT'").one()
        == 1
    )
    admin("GRANT REFERENCES ON CONTRACT::[//c] TO alice")
    assert alice.execute(count).one() == 1


def test_principals_and_permissions_of_others_are_hidden(admin, login):
    admin("GRANT SELECT ON dbo.T TO bob")
    alice = login("alice")
    names = {n for (n,) in alice.execute("SELECT name FROM sys.database_principals").rows()}
    assert "alice" in names and "bob" not in names and "sender" not in names
    assert (
        alice.execute(
            "SELECT COUNT(*) FROM sys.database_permissions WHERE "
            "grantee_principal_id <> USER_ID() AND grantee_principal_id > 0"
        ).one()
        == 0
    )
    admin("ALTER ROLE sender ADD MEMBER alice")
    assert (
        alice.execute("SELECT COUNT(*) FROM sys.database_principals WHERE name = 'sender'").one()
        == 1
    )


def test_dependencies_need_view_definition_on_the_database(admin, login, error):
    alice = login("alice")
    assert error(alice, "SELECT * FROM sys.sql_expression_dependencies") == 229
    admin("GRANT VIEW DEFINITION TO alice")
    assert error(alice, "SELECT * FROM sys.sql_expression_dependencies") is None
