"""Master keys, certificates, asymmetric keys, and the functions that use them (their pages)."""

import pytest

from redial_broker.exec import crypto

PASSWORD = "Key-Word-1234"
CERTIFICATE = f"CREATE CERTIFICATE c ENCRYPTION BY PASSWORD = '{PASSWORD}' WITH SUBJECT = 'Own use'"


def test_keys_are_the_same_in_every_run_and_differ_by_seed():
    assert crypto.make_key("one", 512) == crypto.make_key("one", 512)
    assert crypto.make_key("one", 512).n != crypto.make_key("two", 512).n


def test_a_pvk_file_opens_with_its_password_alone():
    key = crypto.make_key("pvk", 512)
    data = crypto.write_pvk(key, "right", "salt")
    assert crypto.read_pvk(data, "right") == key
    assert crypto.read_pvk(data, "wrong") is None and crypto.read_pvk(data, None) is None
    assert crypto.read_pvk(b"nonsense", "right") is None


def test_a_self_signed_certificate_shows_in_the_catalog(admin):
    admin(CERTIFICATE + ", EXPIRY_DATE = '20301231'")
    assert admin(
        "SELECT name, pvt_key_encryption_type, subject, issuer_name, expiry_date, "
        "key_length, DATALENGTH(thumbprint) FROM sys.certificates"
    ).rows()[0][:4] == ("c", "PW", "Own use", "Own use")
    row = admin(
        "SELECT CERTPROPERTY(CERT_ID('c'), 'Subject'), CERT_ID('nope'), "
        "CONVERT(char(8), CERTPROPERTY(CERT_ID('c'), 'Expiry_Date'), 112)"
    ).rows()[0]
    assert row[0].value == "Own use" and row[1] is None and row[2] == "20301231"


def test_without_dates_it_is_valid_for_a_year_from_now(admin):
    admin(CERTIFICATE)
    assert admin(
        "SELECT DATEDIFF(day, start_date, expiry_date), DATEDIFF(second, start_date, "
        "GETUTCDATE()) FROM sys.certificates"
    ).rows() == [(365, 0)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CREATE CERTIFICATE d WITH SUBJECT = 'x'", 15581),
        ("CREATE CERTIFICATE c ENCRYPTION BY PASSWORD = 'Key-Word-1234' WITH SUBJECT = 'x'", 15232),
        ("CREATE CERTIFICATE d ENCRYPTION BY PASSWORD = 'weak' WITH SUBJECT = 'x'", 15116),
        (
            "CREATE CERTIFICATE d AUTHORIZATION sender ENCRYPTION BY PASSWORD = 'Key-Word-1234' "
            "WITH SUBJECT = 'x'",
            15345,
        ),
        ("CREATE CERTIFICATE d FROM FILE = 'C:\\nowhere.cer'", 15208),
        ("CREATE CERTIFICATE d FROM BINARY = 0x010203", 15297),
        ("CREATE CERTIFICATE d FROM EXECUTABLE FILE = 'C:\\x.dll'", 60001),
        ("BACKUP CERTIFICATE nope TO FILE = 'C:\\n.cer'", 15151),
        ("ALTER CERTIFICATE nope REMOVE PRIVATE KEY", 15151),
        ("DROP CERTIFICATE nope", 15151),
        ("DROP MASTER KEY", 15151),
        ("OPEN MASTER KEY DECRYPTION BY PASSWORD = 'x'", 15151),
        ("CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'short'", 15116),
        ("CREATE MASTER KEY", 60001),
        ("ALTER SERVICE MASTER KEY REGENERATE", 60001),
        ("CREATE SYMMETRIC KEY k WITH ALGORITHM = AES_256 ENCRYPTION BY PASSWORD = 'x'", 60001),
        ("CREATE ASYMMETRIC KEY k WITH ALGORITHM = RSA_2048", 15581),
        ("CREATE USER u FROM CERTIFICATE nope", 15151),
        ("CREATE USER u FROM CERTIFICATE c WITH DEFAULT_SCHEMA = dbo", 15259),
        ("SELECT ENCRYPTBYPASSPHRASE('a', 'b')", 60001),
    ],
)
def test_what_is_wrong_or_refused(admin, instance, error, text, number):
    admin(CERTIFICATE)
    assert error(instance.connect("App"), text) == number


def test_the_master_key_is_opened_by_the_service_or_by_its_password(admin, instance, error):
    admin("CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Word-1'")
    sa = instance.connect("App")
    assert error(sa, "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Word-1'") == 15578
    assert error(sa, "CREATE CERTIFICATE a WITH SUBJECT = 'a'") is None
    sa.execute("ALTER MASTER KEY DROP ENCRYPTION BY SERVICE MASTER KEY")
    assert error(sa, "CREATE CERTIFICATE b WITH SUBJECT = 'b'") == 15581
    assert error(sa, "OPEN MASTER KEY DECRYPTION BY PASSWORD = 'wrong'") == 15313
    sa.execute("OPEN MASTER KEY DECRYPTION BY PASSWORD = 'Master-Word-1'")
    assert error(sa, "CREATE CERTIFICATE b WITH SUBJECT = 'b'") is None
    assert error(instance.connect("App"), "CREATE CERTIFICATE d WITH SUBJECT = 'd'") == 15581
    sa.execute("CLOSE MASTER KEY")
    assert error(sa, "CLOSE MASTER KEY") == 15315
    assert error(sa, "DROP MASTER KEY") == 15580
    assert sa.execute("SELECT name FROM sys.symmetric_keys").one() == "##MS_DatabaseMasterKey##"
    assert (
        sa.execute(
            "SELECT is_master_key_encrypted_by_server FROM sys.databases WHERE name = 'App'"
        ).one()
        == 0
    )


def test_a_certificate_travels_by_virtual_files(admin, instance, error):
    admin(CERTIFICATE)
    backup = (
        f"BACKUP CERTIFICATE c TO FILE = 'C:\\c.cer' WITH PRIVATE KEY (FILE = 'C:\\c.pvk', "
        f"DECRYPTION BY PASSWORD = '{PASSWORD}', ENCRYPTION BY PASSWORD = 'Export-Word-1')"
    )
    admin(backup)
    sa = instance.connect("master")
    assert error(instance.connect("App"), backup) == 15240
    assert set(instance.files) == {"c:\\c.cer", "c:\\c.pvk"}
    wrong = (
        "CREATE CERTIFICATE c FROM FILE = 'c:\\C.CER' WITH PRIVATE KEY (FILE = 'C:\\c.pvk', "
        "DECRYPTION BY PASSWORD = 'wrong', ENCRYPTION BY PASSWORD = 'Other-Word-1')"
    )
    assert error(sa, wrong) == 15465
    assert error(sa, wrong.replace("'wrong'", "'Export-Word-1'")) is None
    both = [
        instance.connect(name).execute("SELECT thumbprint, sid FROM sys.certificates").rows()
        for name in ("App", "master")
    ]
    assert both[0] == both[1]


def test_python_may_put_a_real_certificate_into_the_instance(instance, admin):
    admin(CERTIFICATE)
    instance.files["d:\\given.cer"] = admin("SELECT CERTENCODED(CERT_ID('c'))").one()
    master = instance.connect("master")
    assert not master.execute("CREATE CERTIFICATE given FROM FILE = 'D:\\given.cer'").errors
    assert master.execute("SELECT pvt_key_encryption_type FROM sys.certificates").one() == "NA"


def test_certencoded_and_certprivatekey_copy_a_certificate_to_another_database(admin, instance):
    admin(CERTIFICATE)
    parts = admin(
        "SELECT CERTENCODED(CERT_ID('c')), CERTPRIVATEKEY(CERT_ID('c'), 'Copy-Word-1', "
        f"'{PASSWORD}'), CERTPRIVATEKEY(CERT_ID('c'), 'Copy-Word-1', 'wrong')"
    ).rows()[0]
    assert parts[2] is None
    master = instance.connect("master")
    assert not master.execute(
        f"CREATE CERTIFICATE c FROM BINARY = 0x{parts[0].hex()} WITH PRIVATE KEY (BINARY = "
        f"0x{parts[1].hex()}, DECRYPTION BY PASSWORD = 'Copy-Word-1', ENCRYPTION BY PASSWORD = "
        "'Third-Word-1')"
    ).errors
    assert (
        master.execute(
            "SELECT VERIFYSIGNEDBYCERT(CERT_ID('c'), N'text', SIGNBYCERT(CERT_ID('c')"
            ", N'text', 'Third-Word-1'))"
        ).one()
        == 1
    )


def test_signing_verifying_encrypting(admin):
    admin(CERTIFICATE)
    row = admin(
        f"DECLARE @s varbinary(8000) = SIGNBYCERT(CERT_ID('c'), N'data', N'{PASSWORD}'); "
        "SELECT VERIFYSIGNEDBYCERT(CERT_ID('c'), N'data', @s), "
        "VERIFYSIGNEDBYCERT(CERT_ID('c'), 'data', @s), SIGNBYCERT(CERT_ID('c'), N'data', N'wrong'),"
        " CAST(DECRYPTBYCERT(CERT_ID('c'), ENCRYPTBYCERT(CERT_ID('c'), N'secret'), "
        f"N'{PASSWORD}') AS nvarchar(20))"
    ).rows()[0]
    assert row == (1, 0, None, "secret")


def test_a_user_sees_and_uses_only_the_certificates_it_has_rights_on(admin, login, error):
    admin(CERTIFICATE)
    alice = login("alice")
    assert alice.execute("SELECT COUNT(*) FROM sys.certificates").one() == 0
    assert error(alice, CERTIFICATE.replace(" c ", " d ")) == 262
    assert error(alice, "ALTER CERTIFICATE c REMOVE PRIVATE KEY") == 15151
    admin("GRANT CONTROL ON CERTIFICATE::c TO alice")
    assert alice.execute("SELECT name FROM sys.certificates").rows() == [("c",)]
    assert error(alice, "ALTER CERTIFICATE c REMOVE PRIVATE KEY") is None
    admin("GRANT CREATE CERTIFICATE TO bob")
    assert error(login("bob"), CERTIFICATE.replace(" c ", " d ")) is None


def test_a_rollback_takes_a_certificate_back(admin):
    admin(
        f"BEGIN TRAN; {CERTIFICATE}; CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Word-1';"
        " ROLLBACK"
    )
    assert admin(
        "SELECT (SELECT COUNT(*) FROM sys.certificates), (SELECT COUNT(*) FROM sys.symmetric_keys)"
    ).rows() == [(0, 0)]


# ---------------------------------------------------------------------- dialogs
def test_a_secured_dialog_between_databases_waits_for_both_master_keys(instance):
    """transmission_status 28050 and 28051 (dialog security page), then delivery."""
    s = instance.connect()
    for name, queue in (("Near", "n"), ("Far", "f")):
        s.execute(f"CREATE DATABASE {name}")
        s.execute(
            f"ALTER DATABASE {name} SET TRUSTWORTHY ON; USE {name}; "
            f"CREATE QUEUE dbo.{queue}; CREATE SERVICE [//{name}] ON QUEUE dbo.{queue} "
            "([DEFAULT])"
        )
    near, far = instance.connect("Near"), instance.connect("Far")
    near.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//Near] TO SERVICE "
        "'//Far'; SEND ON CONVERSATION @h (0x01)"
    )
    status = "SELECT transmission_status FROM sys.transmission_queue"
    assert near.execute(status).one().startswith("The session keys for this conversation could")
    master_key = "CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'Master-Word-1'"
    near.execute(master_key)
    instance.run()
    assert "Could not save a dialog session key" in near.execute(status).one()
    far.execute(master_key)
    instance.advance(60)
    assert near.execute(status).rows() == []
    assert far.execute("SELECT COUNT(*) FROM dbo.f").one() == 1
