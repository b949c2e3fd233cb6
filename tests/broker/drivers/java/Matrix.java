import com.microsoft.sqlserver.jdbc.*;
import java.io.*;
import java.math.BigDecimal;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import java.util.regex.*;

/** Microsoft's JDBC driver, one check per capability; prints one JSON line for each. */
public class Matrix {
    interface Check { String run() throws Exception; }
    interface Action { void run() throws Exception; }

    static final Map<String, String> GIVEN = new HashMap<>();
    static String only = null;

    public static void main(String[] args) throws Exception {
        Matcher m = Pattern.compile("\"(\\w+)\": (?:\"((?:[^\"\\\\]|\\\\.)*)\"|(\\d+))").matcher(args[0]);
        while (m.find()) GIVEN.put(m.group(1), m.group(2) != null ? m.group(2) : m.group(3));
        if (args.length > 1) only = args[1];
        connecting();
        values();
        rows();
        control();
        transactions();
        metadata();
        System.exit(0);
    }

    // ------------------------------------------------------------------ the frame
    static void check(String capability, Check body) {
        if (only != null && !only.equals(capability)) return;
        long began = System.nanoTime();
        String outcome = "yes", saw;
        try {
            saw = String.valueOf(body.run());
            if (saw.startsWith("refused: ")) { outcome = "refused"; saw = saw.substring(9); }
        } catch (Throwable e) {
            outcome = "failed";
            StringWriter out = new StringWriter();
            e.printStackTrace(new PrintWriter(out));
            saw = out.toString().substring(0, Math.min(1500, out.toString().length()));
        }
        System.out.printf(Locale.ROOT,
            "{\"capability\": %s, \"outcome\": %s, \"saw\": %s, \"seconds\": %.2f}%n", json(capability),
            json(outcome), json(saw), (System.nanoTime() - began) / 1e9);
        System.out.flush();
    }

    static String json(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 32 || c > 126) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }

    static void equal(Object expected, Object found) {
        if (!Objects.equals(expected, found)) throw new AssertionError(expected + " is not " + found);
    }

    static void that(boolean fact, String text) {
        if (!fact) throw new AssertionError(text);
    }

    static SQLException fails(Action action, String... words) throws Exception {
        try {
            action.run();
        } catch (SQLException e) {
            for (String word : words) that(e.toString().contains(word), word + " not in " + e);
            return e;
        }
        throw new AssertionError("no error");
    }

    static Connection connect(String... changes) throws SQLException {
        String url = GIVEN.get("jdbc").replace("databaseName=master", "databaseName=matrix");
        for (String change : changes) {
            String key = change.substring(0, change.indexOf('='));
            url = key.equals("port") ? url.replaceFirst(":\\d+;", ":" + change.substring(5) + ";")
                : url.replaceAll(";" + key + "=[^;]*", "") + ";" + change;
        }
        return DriverManager.getConnection(url);
    }

    static void run(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            if (!s.execute(sql)) return;
            try (ResultSet rows = s.getResultSet()) { while (rows.next()) { } }  // an error comes with its rows
        }
    }

    static Object value(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            return r.next() ? r.getObject(1) : "no row";
        }
    }

    static Object with(String sql, String... changes) throws SQLException {
        try (Connection c = connect(changes)) { return value(c, sql); }
    }

    static Thread after(int milliseconds, Action action) {
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(milliseconds);
                action.run();
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        thread.start();
        return thread;
    }

    // ------------------------------------------------------------------ connecting
    static void connecting() {
        String option = "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID";
        check("tls", () -> { equal("TRUE", with(option, "encrypt=true")); return "encrypt=true"; });
        check("login_tls", () -> { equal("FALSE", with(option, "encrypt=false")); return "encrypt=false"; });
        check("strict", () -> {
            equal(0x08000000, with("SELECT protocol_version FROM sys.dm_exec_connections WHERE session_id = @@SPID",
                "encrypt=strict", "serverCertificate=" + GIVEN.get("pem"), "trustServerCertificate=false"));
            return "encrypt=strict";
        });
        check("certificate", () -> {
            fails(() -> connect("trustServerCertificate=false"), "PKIX");
            String store = trust(GIVEN.get("pem"));
            equal(4, with("SELECT 4", "trustServerCertificate=false", "trustStore=" + store,
                "trustStorePassword=changeit", "hostNameInCertificate=localhost"));
            fails(() -> connect("trustServerCertificate=false", "trustStore=" + store,
                "trustStorePassword=changeit", "hostNameInCertificate=elsewhere"));
            return "by trustStore";
        });
        check("wrong_password", () -> {
            equal(18456, fails(() -> connect("password=wrong")).getErrorCode());
            return "18456";
        });
        check("wrong_database", () -> {
            equal(4060, fails(() -> connect("databaseName=nowhere")).getErrorCode());
            return "4060";
        });
        check("integrated", () -> "refused: " + fails(() -> connect("integratedSecurity=true",
            "authenticationScheme=NTLM", "domain=D", "user=u", "password=p"), "integrated").getErrorCode());
        check("column_encryption", () -> {
            try (Connection c = connect("columnEncryptionSetting=Enabled")) {
                equal(5, value(c, "SELECT 5"));
            } catch (SQLException e) {
                return "refused: by the driver: " + e.getMessage();
            }
            return "refused: " + fails(() -> with("CREATE COLUMN MASTER KEY k WITH"
                + " (KEY_STORE_PROVIDER_NAME = N'x', KEY_PATH = N'y')"), "COLUMN").getErrorCode();
        });
        check("intent", () -> String.valueOf(with("SELECT DB_NAME()", "applicationIntent=ReadOnly")));
        check("packets", () -> {
            for (int size : new int[] {512, 4096, 8000, 16000, 32767}) {
                String text = "ü".repeat(20000);
                try (Connection c = connect("packetSize=" + size, "encrypt=" + (size < 16384));
                        PreparedStatement p = c.prepareStatement("SELECT ?")) {
                    p.setString(1, text);
                    ResultSet r = p.executeQuery();
                    r.next();
                    equal(text, r.getString(1));
                    equal(500, value(c, "SELECT COUNT(*) FROM dbo.numbers"));
                    equal(size, value(c, "SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID"));
                }
            }
            return "512, 4096, 8000, 16000; 32767 without TLS";
        });
    }

    static String trust(String pem) throws Exception {
        java.security.KeyStore store = java.security.KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (InputStream in = new FileInputStream(pem)) {
            store.setCertificateEntry("broker",
                java.security.cert.CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        String path = pem + ".p12";
        try (OutputStream out = new FileOutputStream(path)) { store.store(out, "changeit".toCharArray()); }
        return path;
    }

    // ------------------------------------------------------------------ values
    static final String[] TEXTS = {
        "255", "-32768", "-2147483648", "4611686018427387904", "1", "-123.4500000000", "7.25", "-1.2345",
        "2.5000", "1.5", "-0.25", "2024-02-29", null, "2024-02-29 13:14:15.123456",
        "2024-02-29 13:14:15.123", "2024-02-29 13:14:00.0", "2024-02-29 13:14:15.123456 +02:00", "abc  ",
        "ü€", "v".repeat(9000), "ab  ", "ünï\uD83D\uDE00", "ñ".repeat(9000), "616263", "0102",
        "62".repeat(9000), "12345678-9ABC-DEF0-1234-56789ABCDEF0", "<a>ü</a>", "v", "text", "löng", "696D"};

    static void values() {
        check("types", () -> {
            try (Connection c = connect(); Statement s = c.createStatement();
                    ResultSet r = s.executeQuery("SELECT * FROM dbo.types ORDER BY id")) {
                r.next();
                for (int i = 0; i < TEXTS.length; i++)
                    if (TEXTS[i] != null) equal(TEXTS[i], r.getString(i + 2));
                equal("13:14:15.123456", r.getObject(14, java.time.LocalTime.class).toString());
                r.next();
                for (int i = 0; i < TEXTS.length; i++) {
                    equal(null, r.getObject(i + 2));
                    that(r.wasNull(), "wasNull");
                }
            }
            return TEXTS.length + " types";
        });
        check("parameters", Matrix::parameters);
        check("results", () -> {
            StringBuilder seen = new StringBuilder();
            try (Connection c = connect(); Statement s = c.createStatement()) {
                boolean rows = s.execute("SELECT 1 AS a WHERE 1 = 0; SELECT 2 AS b;"
                    + " UPDATE dbo.numbers SET v = v WHERE id <= 3; SELECT 3 AS c, 4 AS d");
                while (rows || s.getUpdateCount() >= 0) {
                    if (rows) {
                        ResultSet r = s.getResultSet();
                        seen.append(r.getMetaData().getColumnName(1)).append(r.next() ? r.getInt(1) : "-");
                    } else {
                        seen.append('#').append(s.getUpdateCount());
                    }
                    rows = s.getMoreResults();
                }
            }
            equal("a-b2#3c3", seen.toString());
            return "0 rows, 1 row, a count of 3, 1 row";
        });
        check("messages", () -> {
            StringBuilder heard = new StringBuilder();
            try (Connection c = connect(); Statement s = c.createStatement()) {
                s.execute("PRINT N'grüße'; RAISERROR(N'quiet', 10, 1)");
                do {
                    for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning())
                        heard.append(w.getMessage()).append(' ');
                    s.clearWarnings();
                } while (s.getMoreResults() || s.getUpdateCount() >= 0);
            }
            that(heard.toString().contains("grüße") && heard.toString().contains("quiet"), heard.toString());
            return "getWarnings";
        });
        check("errors", () -> {
            Object[][] cases = {
                {"SELECT * FROM dbo.nothing", "208/16/1/1/", "S0002"}, {"SELECT 1/0", "8134/16/1/1/", "S0001"},
                {"\nEXEC dbo.fails", "50000/16/5/3/fails", "S0005"}, {"SELECT * FORM x", "102/15/1/1/", "S0001"},
                {"THROW 51234, N'mine', 9", "51234/16/9/1/", "S0009"}};
            try (Connection c = connect()) {
                for (Object[] one : cases) {
                    SQLServerException e = (SQLServerException) fails(() -> run(c, (String) one[0]));
                    SQLServerError d = e.getSQLServerError();
                    equal(one[1], d.getErrorNumber() + "/" + d.getErrorSeverity() + "/" + d.getErrorState() + "/"
                        + d.getLineNumber() + "/" + d.getProcedureName());
                    equal(one[2], e.getSQLState());
                }
                run(c, "INSERT INTO dbo.rows (id) VALUES (900)");
                SQLException twice = fails(() -> run(c, "INSERT INTO dbo.rows (id) VALUES (900)"));
                equal("23000/2627", twice.getSQLState() + "/" + twice.getErrorCode());
                run(c, "DELETE FROM dbo.rows WHERE id = 900");
                try (Statement s = c.createStatement()) {
                    that(s.execute("SELECT 1; RAISERROR(N'after rows', 16, 1)"), "rows first");
                    fails(s::getMoreResults, "after rows");
                }
            }
            return "number, severity, state, line, procedure, SQLSTATE";
        });
        check("procedures", () -> {
            try (Connection c = connect();
                    CallableStatement s = c.prepareCall("{? = call dbo.twice(?, ?, ?)}")) {
                s.registerOutParameter(1, Types.INTEGER);
                s.setInt(2, 21);
                s.registerOutParameter(3, Types.INTEGER);
                s.registerOutParameter(4, Types.NVARCHAR);
                ResultSet r = s.executeQuery();
                r.next();
                equal(21, r.getInt(1));
                equal("7/42/ü21", s.getInt(1) + "/" + s.getInt(3) + "/" + s.getString(4));
            }
            return "{? = call}: rows, status, values";
        });
        check("prepared", () -> {
            try (Connection c = connect();
                    PreparedStatement p = c.prepareStatement("SELECT v FROM dbo.numbers WHERE id = ?")) {
                for (int id : new int[] {1, 2, 900, 3, 4}) {
                    p.setInt(1, id);
                    try (ResultSet r = p.executeQuery()) { equal(id != 900, r.next()); }
                }
            }
            try (Connection c = connect("prepareMethod=prepare");
                    PreparedStatement p = c.prepareStatement("SELECT v FROM dbo.numbers WHERE id = ?")) {
                for (int id : new int[] {1, 2, 3}) {
                    p.setInt(1, id);
                    try (ResultSet r = p.executeQuery()) { equal(true, r.next()); }
                }
            }
            return "sp_executesql, sp_prepexec, sp_execute; sp_prepare";
        });
        check("large", Matrix::large);
    }

    static String parameters() throws Exception {
        Object[] sent = {
            (short) 255, (short) -32768, -2147483648, 4611686018427387904L, true, new BigDecimal("-123.45"),
            new BigDecimal("7.25"), new BigDecimal("-1.2345"), new BigDecimal("2.5"), 1.5, -0.25f,
            java.sql.Date.valueOf("2024-02-29"), java.time.LocalTime.parse("13:14:15.123456"),
            Timestamp.valueOf("2024-02-29 13:14:15.123456"), Timestamp.valueOf("2024-02-29 13:14:15.123"),
            Timestamp.valueOf("2024-02-29 13:14:00"), java.time.OffsetDateTime.parse("2024-02-29T13:14:15.123456+02:00"),
            "abc", "ü€", "v".repeat(9000), "ab", "ünï\uD83D\uDE00", "ñ".repeat(9000), "abc".getBytes(),
            new byte[] {1, 2}, "b".repeat(9000).getBytes(), TEXTS[26]};
        String[] types = {"tinyint", "smallint", "int", "bigint", "bit", "decimal(38,10)", "numeric(9,2)",
            "money", "smallmoney", "float", "real", "date", "time(6)", "datetime2(6)", "datetime", "smalldatetime",
            "datetimeoffset(6)", "char(5)", "varchar(20)", "varchar(max)", "nchar(4)", "nvarchar(20)",
            "nvarchar(max)", "binary(3)", "varbinary(20)", "varbinary(max)", "uniqueidentifier"};
        try (Connection c = connect("sendTimeAsDatetime=false")) {
            for (int i = 0; i < sent.length; i++) {
                String sql = "SELECT COUNT(*) FROM dbo.types WHERE c" + i + " = CAST(? AS " + types[i] + ")";
                try (PreparedStatement p = c.prepareStatement(sql)) {
                    p.setObject(1, sent[i]);
                    ResultSet r = p.executeQuery();
                    r.next();
                    that(r.getInt(1) == 1, types[i]);
                }
            }
            try (PreparedStatement p = c.prepareStatement("SELECT ?, ?")) {
                p.setNull(1, Types.INTEGER);
                SQLXML xml = c.createSQLXML();
                xml.setString("<a>ü</a>");
                p.setSQLXML(2, xml);
                ResultSet r = p.executeQuery();
                r.next();
                equal(null, r.getObject(1));
                equal("<a>ü</a>", r.getSQLXML(2).getString());
            }
        }
        return sent.length + 1 + " types, and NULL";
    }

    static String large() throws Exception {
        int size = Integer.parseInt(GIVEN.get("large"));
        String text = "ß".repeat(size / 2), item = "<i>" + "x".repeat(993) + "</i>";
        String xml = "<r>" + item.repeat(size / 2 / item.length()) + "</r>";
        byte[] binary = new byte[size];
        for (int i = 0; i < size; i++) binary[i] = (byte) i;
        try (Connection c = connect()) {
            run(c, "TRUNCATE TABLE dbo.large");
            for (String column : new String[] {"n", "b", "x"}) {
                try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.large (" + column + ") VALUES (?)")) {
                    if (column.equals("b")) p.setBinaryStream(1, new ByteArrayInputStream(binary), size);
                    else p.setNString(1, column.equals("n") ? text : xml);
                    p.executeUpdate();
                }
                try (Statement s = c.createStatement();
                        ResultSet r = s.executeQuery("SELECT " + column + " FROM dbo.large")) {
                    r.next();
                    if (column.equals("b")) that(Arrays.equals(binary, r.getBytes(1)), "binary");
                    else that((column.equals("n") ? text : xml).equals(r.getString(1)), column);
                }
                run(c, "TRUNCATE TABLE dbo.large");
            }
        }
        return "text, binary and XML, each as it was sent";
    }

    // ------------------------------------------------------------------ many rows
    static void rows() {
        check("batches", () -> {
            long plain = batch(), bulk = batch("useBulkCopyForBatchInsert=true");
            equal(1000L, plain);
            equal(1000L, bulk);
            return "addBatch of 1000 rows; the same by useBulkCopyForBatchInsert";
        });
        check("bulk", () -> {
            try (Connection c = connect(); Connection source = connect(); Statement s = source.createStatement();
                    ResultSet r = s.executeQuery("SELECT id + 2000, N'Grüße', CAST('b' AS varbinary(max)),"
                        + " CAST(id AS decimal(18,4)), CAST('2024-02-29T13:14:15.123456' AS datetime2(6))"
                        + " FROM dbo.numbers");
                    SQLServerBulkCopy bulk = new SQLServerBulkCopy(c)) {
                SQLServerBulkCopyOptions options = new SQLServerBulkCopyOptions();
                options.setCheckConstraints(true);
                options.setFireTriggers(true);
                options.setKeepNulls(true);
                options.setTableLock(true);
                options.setBatchSize(200);
                bulk.setBulkCopyOptions(options);
                bulk.setDestinationTableName("dbo.rows");
                bulk.writeToServer(r);
                equal(500, value(c, "SELECT COUNT(*) FROM dbo.rows WHERE id > 2000 AND v = N'Grüße'"
                    + " AND b = 0x62 AND d = id - 2000 AND m = '2024-02-29T13:14:15.123456'"));
                run(c, "DELETE FROM dbo.rows WHERE id > 2000");
            }
            return "SQLServerBulkCopy of 500 rows in 3 batches";
        });
        check("table_values", () -> {
            SQLServerDataTable table = new SQLServerDataTable();
            table.addColumnMetadata("id", Types.INTEGER);
            table.addColumnMetadata("v", Types.NVARCHAR);
            table.addRow(1, "a");
            table.addRow(2, "ü");
            table.addRow(3, null);
            try (Connection c = connect(); SQLServerPreparedStatement p =
                    (SQLServerPreparedStatement) c.prepareStatement("EXEC dbo.take ?")) {
                p.setStructured(1, "dbo.pairs", table);
                ResultSet r = p.executeQuery();
                r.next();
                equal("3/6/ü", r.getInt(1) + "/" + r.getInt(2) + "/" + r.getString(3));
            }
            return "SQLServerDataTable";
        });
        check("cursors", Matrix::cursors);
    }

    static long batch(String... changes) throws SQLException {
        try (Connection c = connect(changes); PreparedStatement p =
                c.prepareStatement("INSERT INTO dbo.rows (id, v, b, d, m) VALUES (?, ?, ?, ?, ?)")) {
            c.setAutoCommit(false);
            for (int i = 0; i < 1000; i++) {
                p.setInt(1, 1000 + i);
                p.setString(2, i % 7 == 0 ? null : "Grüße " + i);
                p.setBytes(3, new byte[i % 50]);
                p.setBigDecimal(4, new BigDecimal(i).movePointLeft(2));
                p.setTimestamp(5, Timestamp.valueOf("2024-02-29 13:14:15.123456"));
                p.addBatch();
            }
            p.executeBatch();
            c.commit();
            long found = ((Number) value(c, "SELECT COUNT(*) FROM dbo.rows WHERE id BETWEEN 1000 AND 1999 AND"
                + " m = '2024-02-29T13:14:15.123456' AND d = (id - 1000) / 100.0")).longValue();
            run(c, "DELETE FROM dbo.rows WHERE id >= 1000");
            c.commit();
            return found;
        }
    }

    static String cursors() throws Exception {
        try (Connection c = connect("selectMethod=cursor")) {
            try (Statement s = c.createStatement()) {
                s.setFetchSize(100);
                ResultSet r = s.executeQuery("SELECT id FROM dbo.numbers ORDER BY id");
                int sum = 0;
                while (r.next()) sum += r.getInt(1);
                equal(125250, sum);
            }
            try (PreparedStatement p = c.prepareStatement("SELECT id FROM dbo.numbers WHERE id > ? ORDER BY id")) {
                for (int from : new int[] {490, 495, 497}) {
                    p.setInt(1, from);
                    ResultSet r = p.executeQuery();
                    int count = 0;
                    while (r.next()) count++;
                    equal(500 - from, count);
                }
            }
        }
        try (Connection c = connect(); Statement s = c.createStatement(
                SQLServerResultSet.TYPE_SS_SCROLL_STATIC, ResultSet.CONCUR_READ_ONLY)) {
            s.setFetchSize(7);
            ResultSet r = s.executeQuery("SELECT id FROM dbo.numbers WHERE id <= 30 ORDER BY id");
            r.last();
            equal(30, r.getRow());
            r.absolute(3);
            equal(3, r.getInt(1));
            r.relative(10);
            equal(13, r.getInt(1));
            that(r.previous() && r.getInt(1) == 12, "previous");
            r.beforeFirst();
            that(r.next() && r.getInt(1) == 1, "first");
            that(!r.previous(), "before the first");
            r.afterLast();
            that(r.previous() && r.getInt(1) == 30, "last");
            that(r.absolute(-5) && r.getInt(1) == 26, "absolute from the end");
        }
        try (Connection c = connect(); Connection other = connect(); Statement s = c.createStatement(
                ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
            run(other, "INSERT INTO dbo.rows (id, v) VALUES (80, N'a'), (81, N'b'), (82, N'c')");
            s.setFetchSize(1);
            ResultSet r = s.executeQuery("SELECT id, v FROM dbo.rows WHERE id >= 80 ORDER BY id");
            that(r.next() && r.getString(2).equals("a"), "first");
            run(other, "UPDATE dbo.rows SET v = N'new' WHERE id = 81; DELETE FROM dbo.rows WHERE id = 82");
            that(r.next() && r.getString(2).equals("new"), "a changed row is seen");
            that(r.next(), "a deleted row keeps its place");
            fails(() -> r.getString(2), "deleted");
            run(other, "DELETE FROM dbo.rows WHERE id >= 80");
        }
        try (Connection c = connect(); Statement s = c.createStatement(
                ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            fails(() -> s.executeQuery("SELECT id FROM dbo.numbers"), "OPTIMISTIC");
        }
        return "forward-only, static and keyset; updatable ones are refused by name";
    }

    // ------------------------------------------------------------------ ends of requests
    static void control() {
        check("cancel", () -> {
            try (Connection c = connect(); Statement s = c.createStatement()) {
                s.cancel();
                boolean[] over = {false};
                Thread thread = after(300, () -> {  // once may be too early on a busy machine
                    for (; !over[0]; Thread.sleep(300)) s.cancel();
                });
                SQLException e = fails(() -> s.execute("WAITFOR DELAY '00:10:00'"), "cancel");
                over[0] = true;
                thread.join();
                equal(2, value(c, "SELECT 2"));
                ResultSet r = s.executeQuery("SELECT a.id FROM dbo.numbers AS a CROSS JOIN dbo.numbers AS b");
                r.next();
                s.cancel();
                equal(3, value(c, "SELECT 3"));
                return e.getSQLState();
            }
        });
        check("timeout", () -> {
            try (Connection c = connect(); Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                SQLException e = fails(() -> s.execute("WAITFOR DELAY '00:10:00'"));
                that(e instanceof SQLTimeoutException, e.toString());
                equal(1, value(c, "SELECT 1"));
                return "SQLTimeoutException";
            }
        });
        check("killed", () -> {
            try (Connection victim = connect(); Connection killer = connect(); Connection idle = connect()) {
                Object spid = value(victim, "SELECT @@SPID"), other = value(idle, "SELECT @@SPID");
                Thread thread = after(300, () -> run(killer, "KILL " + spid));
                SQLException e = fails(() -> run(victim, "WAITFOR DELAY '00:10:00'"));
                thread.join();
                that(victim.isClosed() || !victim.isValid(1), "still open");
                run(killer, "KILL " + other);
                fails(() -> value(idle, "SELECT 1"));
                equal(1, with("SELECT 1"));
                return e.getErrorCode() + " " + e.getSQLState();
            }
        });
        check("lost", () -> {
            List<Socket> ends = new ArrayList<>();
            try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getByName("127.0.0.1"))) {
                after(0, () -> pass(listener, ends));
                Connection c = connect("port=" + listener.getLocalPort());
                c.setAutoCommit(false);
                run(c, "INSERT INTO dbo.rows (id) VALUES (6)");
                after(300, () -> { for (Socket s : ends) s.close(); });
                SQLException e = fails(() -> run(c, "WAITFOR DELAY '00:10:00'"));
                equal(0, with("SELECT COUNT(*) FROM dbo.rows WHERE id = 6"));
                return e.getSQLState();
            }
        });
        check("pool", () -> {
            SQLServerConnectionPoolDataSource source = new SQLServerConnectionPoolDataSource();
            source.setURL(GIVEN.get("jdbc"));
            source.setDatabaseName("matrix");
            javax.sql.PooledConnection pooled = source.getPooledConnection();
            Object first;
            try (Connection c = pooled.getConnection()) {
                first = value(c, "SELECT @@SPID");
                run(c, "CREATE TABLE #left (i int); SET XACT_ABORT ON; USE other");
            }
            try (Connection c = pooled.getConnection()) {
                equal(first, value(c, "SELECT @@SPID"));
                equal("matrix//0/0", value(c, "SELECT CONCAT(DB_NAME(), N'/', OBJECT_ID('tempdb..#left'), N'/',"
                    + " @@OPTIONS & 16384, N'/', @@TRANCOUNT)"));
            }
            pooled.close();
            return "PooledConnection: the same session, reset";
        });
    }

    static void pass(ServerSocket listener, List<Socket> ends) throws Exception {
        Socket client = listener.accept(), server = new Socket("127.0.0.1", Integer.parseInt(GIVEN.get("port")));
        ends.add(client);
        ends.add(server);
        for (Socket[] pair : new Socket[][] {{client, server}, {server, client}})
            new Thread(() -> {
                try {
                    pair[0].getInputStream().transferTo(pair[1].getOutputStream());
                } catch (IOException e) {
                    // cut
                }
            }).start();
    }

    // ------------------------------------------------------------------ transactions
    static void transactions() {
        String left = "SELECT COUNT(*) FROM dbo.rows WHERE id < 10";
        check("transactions", () -> {
            try (Connection c = connect()) {
                c.setAutoCommit(false);
                run(c, "INSERT INTO dbo.rows (id) VALUES (1)");
                c.rollback();
                run(c, "INSERT INTO dbo.rows (id) VALUES (2)");
                c.commit();
                run(c, "INSERT INTO dbo.rows (id) VALUES (3)");
                c.rollback();
                equal(2, value(c, "SELECT MAX(id) FROM dbo.rows WHERE id < 10"));
                run(c, "DELETE FROM dbo.rows WHERE id < 10");
                c.commit();
                c.setAutoCommit(true);
                equal(0, value(c, "SELECT @@TRANCOUNT"));
                equal(0, value(c, left));
            }
            return "setAutoCommit, commit, rollback";
        });
        check("savepoints", () -> {
            try (Connection c = connect()) {
                c.setAutoCommit(false);
                run(c, "INSERT INTO dbo.rows (id) VALUES (1)");
                Savepoint named = c.setSavepoint("one"), unnamed = c.setSavepoint();
                run(c, "INSERT INTO dbo.rows (id) VALUES (2)");
                c.rollback(unnamed);
                run(c, "INSERT INTO dbo.rows (id) VALUES (3)");
                c.rollback(named);
                equal(1, value(c, left));
                c.rollback();
                equal(0, value(c, left));
            }
            return "setSavepoint, named and unnamed";
        });
        check("isolation", () -> {
            String query = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
            int[][] levels = {{Connection.TRANSACTION_READ_UNCOMMITTED, 1}, {Connection.TRANSACTION_READ_COMMITTED, 2},
                {Connection.TRANSACTION_REPEATABLE_READ, 3}, {Connection.TRANSACTION_SERIALIZABLE, 4},
                {SQLServerConnection.TRANSACTION_SNAPSHOT, 5}};
            try (Connection c = connect(); Connection other = connect()) {
                for (int[] level : levels) {
                    c.setTransactionIsolation(level[0]);
                    equal((short) level[1], value(c, query));
                }
                c.setAutoCommit(false);
                equal(0, value(c, left));
                run(other, "INSERT INTO dbo.rows (id) VALUES (5)");
                equal(0, value(c, left));
                c.commit();
                equal(1, value(c, left));
                c.commit();
                run(other, "DELETE FROM dbo.rows WHERE id < 10");
            }
            return "5 levels by setTransactionIsolation, SNAPSHOT included";
        });
    }

    // ------------------------------------------------------------------ metadata
    static String names(ResultSet r, String column) throws SQLException {
        StringBuilder out = new StringBuilder();
        while (r.next()) out.append(r.getString(column)).append(' ');
        return out.toString().trim();
    }

    static void metadata() {
        check("database", () -> {
            try (Connection c = connect()) {
                c.setCatalog("other");
                equal("other/other", value(c, "SELECT DB_NAME()") + "/" + c.getCatalog());
                run(c, "USE matrix");
                equal("matrix", c.getCatalog());
            }
            return "setCatalog and USE";
        });
        check("catalog", () -> {
            try (Connection c = connect()) {
                DatabaseMetaData m = c.getMetaData();
                equal("large numbers rows types", names(m.getTables(null, "dbo", null, new String[] {"TABLE"}), "TABLE_NAME"));
                equal("id v b d m", names(m.getColumns(null, "dbo", "rows", null), "COLUMN_NAME"));
                equal("id", names(m.getPrimaryKeys(null, "dbo", "rows"), "COLUMN_NAME"));
                that(names(m.getIndexInfo(null, "dbo", "rows", true, false), "INDEX_NAME").contains("PK_rows"), "index");
                that(names(m.getProcedures(null, "dbo", "%"), "PROCEDURE_NAME").contains("twice"), "procedures");
                equal("@RETURN_VALUE @a @twice @text", names(m.getProcedureColumns(null, "dbo", "twice", null), "COLUMN_NAME"));
                that(names(m.getSchemas(), "TABLE_SCHEM").contains("dbo"), "schemas");
                that(names(m.getCatalogs(), "TABLE_CAT").contains("matrix"), "catalogs");
                that(names(m.getTypeInfo(), "TYPE_NAME").contains("nvarchar"), "types");
            }
            return "getTables, getColumns, getPrimaryKeys, getIndexInfo, getProcedures, getProcedureColumns,"
                + " getSchemas, getCatalogs, getTypeInfo";
        });
        check("describe", () -> {
            try (Connection c = connect();
                    PreparedStatement p = c.prepareStatement("SELECT id, v FROM dbo.rows WHERE d = ? AND v = ?")) {
                equal("id v", p.getMetaData().getColumnName(1) + " " + p.getMetaData().getColumnName(2));
                ParameterMetaData m = p.getParameterMetaData();
                equal("decimal nvarchar", m.getParameterTypeName(1) + " " + m.getParameterTypeName(2));
                return "getMetaData before execution, getParameterMetaData";
            }
        });
    }
}
