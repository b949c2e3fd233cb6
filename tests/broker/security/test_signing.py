"""Module signing: rights of a certificate's user or login while the signed module runs."""

import pytest

PASSWORD = "Sign-Word-1234"
CERTIFICATE = f"CREATE CERTIFICATE c ENCRYPTION BY PASSWORD = '{PASSWORD}' WITH SUBJECT = 'Signs'"
SIGN = f"ADD SIGNATURE TO dbo.{{}} BY CERTIFICATE c WITH PASSWORD = '{PASSWORD}'"


@pytest.fixture
def signer(admin):
    """A certificate with a user that may read bob's table; dynamic SQL breaks the chain."""
    admin("CREATE SCHEMA b AUTHORIZATION bob")
    admin("CREATE TABLE b.T (a int); INSERT b.T VALUES (2)")
    admin(CERTIFICATE)
    admin("CREATE USER reader FROM CERTIFICATE c; GRANT SELECT ON b.T TO reader")
    admin("CREATE PROCEDURE dbo.Read_ AS SELECT a FROM b.T")
    admin("GRANT EXECUTE ON dbo.Read_ TO alice")


def test_a_signed_procedure_has_the_certificate_users_rights_while_it_runs(
    signer, admin, login, error
):
    alice = login("alice")
    assert error(alice, "EXEC dbo.Read_") == 229
    admin(SIGN.format("Read_"))
    assert alice.execute("EXEC dbo.Read_").rows() == [(2,)]
    assert error(alice, "EXEC dbo.Read_; SELECT a FROM b.T") == 229


def test_the_token_shows_the_signer(signer, admin, login):
    admin(
        "ALTER PROCEDURE dbo.Read_ AS SELECT name, type FROM sys.user_token WHERE name <> "
        "'public' ORDER BY name"
    )
    admin(SIGN.format("Read_"))
    assert login("alice").execute("EXEC dbo.Read_").rows() == [
        ("alice", "SQL USER"),
        ("reader", "CERTIFICATE"),
    ]


def test_the_signature_is_lost_with_every_change(signer, admin, login, error):
    admin(SIGN.format("Read_"))
    admin("ALTER PROCEDURE dbo.Read_ AS SELECT a FROM b.T")
    assert admin("SELECT COUNT(*) FROM sys.crypt_properties").one() == 0
    assert error(login("alice"), "EXEC dbo.Read_") == 229


def test_dynamic_text_keeps_the_signature_and_a_called_module_does_not(signer, admin, login, error):
    admin("CREATE PROCEDURE dbo.Dyn AS EXEC('SELECT a FROM b.T')")
    admin("CREATE PROCEDURE dbo.Calls AS EXEC dbo.Read_")
    admin("GRANT EXECUTE ON dbo.Dyn TO alice; GRANT EXECUTE ON dbo.Calls TO alice")
    admin(SIGN.format("Dyn"))
    admin(SIGN.format("Calls"))
    alice = login("alice")
    assert alice.execute("EXEC dbo.Dyn").rows() == [(2,)]
    assert error(alice, "EXEC dbo.Calls") == 229


def test_a_countersignature_hands_the_signature_on_and_gives_nothing_by_itself(
    signer, admin, login, error
):
    admin("CREATE PROCEDURE dbo.Calls AS EXEC dbo.Read_")
    admin("GRANT EXECUTE ON dbo.Calls TO alice")
    admin(SIGN.format("Calls"))
    admin(SIGN.format("Read_").replace("ADD", "ADD COUNTER"))
    alice = login("alice")
    assert alice.execute("EXEC dbo.Calls").rows() == [(2,)]
    assert error(alice, "EXEC dbo.Read_") == 229
    assert sorted(
        admin("SELECT crypt_type, OBJECT_NAME(major_id) FROM sys.crypt_properties").rows()
    ) == [("CPVC", "Read_"), ("SPVC", "Calls")]


@pytest.mark.parametrize(("switch", "expected"), [("counts", (1, 1)), ("ignored", (0, 0))])
def test_a_signers_roles_count_in_is_member_or_not(instance, admin, switch, expected):
    """F-180, a switch: sys.transmission_queue asks IS_MEMBER too (F-113)."""
    instance.engine.switches["signer_is_member"] = switch
    admin("CREATE QUEUE dbo.Q; CREATE SERVICE [//S] ON QUEUE dbo.Q ([DEFAULT])")
    admin(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//S] TO SERVICE '//nowhere' "
        "WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h (0x01)"
    )
    admin("CREATE USER nologin WITHOUT LOGIN")
    admin(
        "CREATE PROCEDURE dbo.Sees WITH EXECUTE AS 'nologin' AS SELECT IS_MEMBER('db_owner'), "
        "(SELECT COUNT(*) FROM sys.transmission_queue)"
    )
    admin(
        f"{CERTIFICATE}; CREATE USER owning FROM CERTIFICATE c; "
        "ALTER ROLE db_owner ADD MEMBER owning"
    )
    assert admin("EXEC dbo.Sees").rows() == [(0, 0)]
    admin(SIGN.format("Sees"))
    assert admin("EXEC dbo.Sees").rows() == [expected]


def test_triggers_and_functions_can_be_signed_views_and_inline_functions_cannot(
    signer, admin, login, error, instance
):
    admin("CREATE FUNCTION dbo.F() RETURNS int AS BEGIN RETURN (SELECT MAX(a) FROM b.T) END")
    admin("CREATE FUNCTION dbo.I() RETURNS TABLE AS RETURN SELECT 1 AS one")
    admin("CREATE VIEW dbo.V AS SELECT 1 AS one")
    admin("GRANT EXECUTE ON dbo.F TO alice")
    admin(SIGN.format("F"))
    assert login("alice").execute("SELECT dbo.F()").one() == 2
    sa = instance.connect("App")
    assert error(sa, SIGN.format("I")) == 15560
    assert error(sa, SIGN.format("V")) == 15560


def test_a_denial_still_wins_over_a_signer(signer, admin, login, error):
    admin(SIGN.format("Read_"))
    admin("DENY SELECT ON b.T TO alice")
    assert error(login("alice"), "EXEC dbo.Read_") == 229


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("ADD SIGNATURE TO dbo.Read_ BY CERTIFICATE c", 15556),
        ("ADD SIGNATURE TO dbo.Read_ BY CERTIFICATE c WITH PASSWORD = 'wrong'", 15556),
        ("ADD SIGNATURE TO dbo.Read_ BY CERTIFICATE c WITH SIGNATURE = 0x0102", 15299),
        ("ADD SIGNATURE TO dbo.Read_ BY CERTIFICATE nope", 15151),
        ("ADD SIGNATURE TO dbo.Nope BY CERTIFICATE c", 15151),
        ("DROP SIGNATURE FROM dbo.Read_ BY CERTIFICATE c", 15558),
        ("DROP CERTIFICATE c", 15559),
        ("EXECUTE AS USER = 'reader'", 15517),
    ],
)
def test_what_is_wrong_with_a_signature(signer, instance, error, text, number):
    assert error(instance.connect("App"), text) == number


def test_a_signature_made_elsewhere_may_be_given_as_a_blob(signer, admin, login, instance, error):
    admin(SIGN.format("Read_"))
    sa = instance.connect("App")
    assert error(sa, SIGN.format("Read_")) == 15557
    blob = admin("SELECT crypt_property FROM sys.crypt_properties").one()
    admin("DROP SIGNATURE FROM dbo.Read_ BY CERTIFICATE c; ALTER CERTIFICATE c REMOVE PRIVATE KEY")
    assert error(sa, SIGN.format("Read_")) == 15556
    admin(f"ADD SIGNATURE TO dbo.Read_ BY CERTIFICATE c WITH SIGNATURE = 0x{blob.hex()}")
    assert login("alice").execute("EXEC dbo.Read_").rows() == [(2,)]
    assert (
        admin(
            "SELECT IS_OBJECTSIGNED('OBJECT', OBJECT_ID('dbo.Read_'), 'CERTIFICATE', "
            "thumbprint) FROM sys.certificates"
        ).one()
        == 1
    )
    assert error(sa, "DROP USER reader; DROP CERTIFICATE c") == 15352


def test_an_asymmetric_key_signs_as_well(signer, admin, login):
    admin(
        "CREATE ASYMMETRIC KEY k WITH ALGORITHM = RSA_512 ENCRYPTION BY PASSWORD = "
        f"'{PASSWORD}'; CREATE USER keyed FROM ASYMMETRIC KEY k; GRANT SELECT ON b.T TO keyed; "
        f"ADD SIGNATURE TO dbo.Read_ BY ASYMMETRIC KEY k WITH PASSWORD = '{PASSWORD}'"
    )
    assert login("alice").execute("EXEC dbo.Read_").rows() == [(2,)]


def test_a_certificate_of_two_databases_opens_the_second_to_the_first(
    signer, admin, instance, login, error
):
    """A certificate copied to another database: its user there lets the signed module in."""
    other = instance.connect("master")
    other.execute("CREATE DATABASE Other")
    admin("CREATE PROCEDURE dbo.Cross_ AS SELECT a FROM Other.dbo.O")
    admin("GRANT EXECUTE ON dbo.Cross_ TO alice")
    admin(SIGN.format("Cross_"))
    der = admin("SELECT CERTENCODED(CERT_ID('c'))").one()
    other.execute("USE Other; CREATE TABLE dbo.O (a int); INSERT dbo.O VALUES (7)")
    alice = login("alice")
    assert error(alice, "EXEC dbo.Cross_") == 916
    other.execute(
        f"CREATE CERTIFICATE c FROM BINARY = 0x{der.hex()}; CREATE USER fromApp FROM CERTIFICATE c"
    )
    assert error(alice, "EXEC dbo.Cross_") == 229
    other.execute("GRANT SELECT ON dbo.O TO fromApp")
    assert alice.execute("EXEC dbo.Cross_").rows() == [(7,)]
    # Inside an impersonation the signer must also vouch for it: AUTHENTICATE.
    sa = instance.connect("App")
    sa.execute("EXECUTE AS USER = 'alice'")
    assert error(sa, "EXEC dbo.Cross_") == 916
    other.execute("GRANT AUTHENTICATE TO fromApp")
    assert sa.execute("EXEC dbo.Cross_").rows() == [(7,)]


# ---------------------------------------------------------------------- the script of the field
SESSIONS = """
CREATE PROCEDURE dbo.ListSessions AS
BEGIN
    DECLARE @h uniqueidentifier, @type sysname, @answer xml;
    BEGIN TRANSACTION;
    WAITFOR (RECEIVE TOP (1) @h = conversation_handle, @type = message_type_name
             FROM dbo.AskedQueue), TIMEOUT 1000;
    WHILE @h IS NOT NULL
    BEGIN
        IF @type = N'//ask'
        BEGIN
            SELECT @answer = (SELECT * FROM sys.dm_exec_sessions FOR XML PATH ('session'), TYPE);
            SEND ON CONVERSATION @h MESSAGE TYPE [//list] (@answer);
        END
        END CONVERSATION @h;
        COMMIT;
        SELECT @h = NULL;
        BEGIN TRANSACTION;
        WAITFOR (RECEIVE TOP (1) @h = conversation_handle, @type = message_type_name
                 FROM dbo.AskedQueue), TIMEOUT 1000;
    END
    COMMIT;
END
"""

ASK = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG CONVERSATION @h FROM SERVICE [//asker] "
    "TO SERVICE '//lister' ON CONTRACT [//sessions] WITH ENCRYPTION = OFF; "
    "SEND ON CONVERSATION @h MESSAGE TYPE [//ask];"
)


def sessions_in_the_answer(instance, s):
    """Ask the service and count the sessions its answer lists."""
    s.execute(ASK)
    instance.advance(10)
    return s.execute(
        "DECLARE @all TABLE (kind sysname, body varbinary(max)); DECLARE @n int = 1; WHILE @n > 0 "
        "BEGIN RECEIVE message_type_name, message_body FROM dbo.AskerQueue INTO @all; "
        "SET @n = @@ROWCOUNT; END; SELECT CAST(body AS xml).value('count(/session)', 'int') "
        "FROM @all WHERE kind = N'//list'"
    ).one()


def test_a_signed_activated_procedure_sees_the_whole_server(instance):
    """Activation is fenced in its database; certificate, login and AUTHENTICATE SERVER open it."""
    s = instance.connect()
    for batch in (
        "CREATE DATABASE Listing",
        "USE Listing",
        "CREATE MESSAGE TYPE [//ask] VALIDATION = EMPTY; CREATE MESSAGE TYPE [//list] VALIDATION = "
        "WELL_FORMED_XML; CREATE CONTRACT [//sessions] ([//ask] SENT BY INITIATOR, [//list] SENT "
        "BY TARGET)",
        "CREATE QUEUE dbo.AskedQueue; CREATE SERVICE [//lister] ON QUEUE dbo.AskedQueue "
        "([//sessions]); CREATE QUEUE dbo.AskerQueue; CREATE SERVICE [//asker] ON QUEUE "
        "dbo.AskerQueue",
        SESSIONS,
        "ALTER QUEUE dbo.AskedQueue WITH ACTIVATION (STATUS = ON, MAX_QUEUE_READERS = 1, "
        "PROCEDURE_NAME = dbo.ListSessions, EXECUTE AS OWNER)",
    ):
        assert not s.execute(batch).errors, batch
    other = instance.connect("Listing")
    assert other.id != s.id
    assert sessions_in_the_answer(instance, s) == 1  # itself
    for batch in (
        f"CREATE CERTIFICATE Lists ENCRYPTION BY PASSWORD = '{PASSWORD}' WITH SUBJECT = 'Lists'",
        "ADD SIGNATURE TO OBJECT::dbo.ListSessions BY CERTIFICATE Lists WITH PASSWORD = "
        f"'{PASSWORD}'",
        "ALTER CERTIFICATE Lists REMOVE PRIVATE KEY",
        "BACKUP CERTIFICATE Lists TO FILE = 'C:\\Lists.CER'",
        "USE master",
        "CREATE CERTIFICATE Lists FROM FILE = 'C:\\Lists.CER'",
        "CREATE LOGIN Lists FROM CERTIFICATE Lists",
        "GRANT VIEW SERVER STATE TO Lists",
        "USE Listing",
    ):
        assert not s.execute(batch).errors, batch
    assert sessions_in_the_answer(instance, s) == 1  # AUTHENTICATE SERVER is missing
    s.execute("USE master; GRANT AUTHENTICATE SERVER TO Lists; USE Listing")
    assert sessions_in_the_answer(instance, s) == len(instance.sessions) + 1  # and its own
