import java.sql.*;

/** Microsoft's JDBC driver against the real instance; prints one "name=value" line per finding. */
public class Instance {
    static void say(String name, Object value) { System.out.println(name + "=" + value); }

    static void run(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            if (!s.execute(sql)) return;
            try (ResultSet rows = s.getResultSet()) { while (rows.next()) { } }  // an error comes with its rows
        }
    }

    static Object first(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getObject(1);
        }
    }

    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0])) {
            run(c, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(50) NULL, b varbinary(max) NULL)");
            run(c, "CREATE PROCEDURE dbo.p @a int, @b int OUTPUT AS SET @b = @a * 2; RETURN 7");
            insert(c);
            call(c);
            transactions(c);
            errors(c);
            timeout(c, args[0]);
            metadata(c);
        }
    }

    static void insert(Connection c) throws SQLException {
        int total = 0;
        try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.t (id, v, b) VALUES (?, ?, ?)")) {
            for (int i = 0; i < 500; i++) {
                p.setInt(1, i);
                p.setString(2, i % 7 == 0 ? null : "Grüße " + i);
                p.setBytes(3, new byte[i * 20]);
                p.addBatch();
            }
            for (int n : p.executeBatch()) total += n;
        }
        say("batch", total);
        say("count", first(c, "SELECT COUNT(*) FROM dbo.t WHERE v IS NOT NULL"));
        try (PreparedStatement p = c.prepareStatement("SELECT v, DATALENGTH(b) FROM dbo.t WHERE id = ?")) {
            for (int id : new int[] {1, 2, 499}) {
                p.setInt(1, id);
                try (ResultSet r = p.executeQuery()) {
                    r.next();
                    say("row " + id, r.getString(1) + "/" + r.getLong(2));
                }
            }
        }
    }

    static void call(Connection c) throws SQLException {
        try (CallableStatement s = c.prepareCall("{? = call dbo.p(?, ?)}")) {
            s.registerOutParameter(1, Types.INTEGER);
            s.setInt(2, 21);
            s.registerOutParameter(3, Types.INTEGER);
            s.execute();
            say("call", s.getInt(1) + "/" + s.getInt(3));
        }
    }

    static void transactions(Connection c) throws SQLException {
        c.setAutoCommit(false);
        run(c, "UPDATE dbo.t SET v = N'one' WHERE id = 1");
        Savepoint s = c.setSavepoint("sp1");
        run(c, "UPDATE dbo.t SET v = N'two' WHERE id = 2");
        c.rollback(s);
        c.commit();
        run(c, "DELETE FROM dbo.t");
        c.rollback();
        c.setAutoCommit(true);
        say("after savepoint", first(c, "SELECT CONCAT(MAX(CASE id WHEN 1 THEN v END), N'/', "
            + "MAX(CASE id WHEN 2 THEN v END), N'/', COUNT(*)) FROM dbo.t"));
        say("trancount", first(c, "SELECT @@TRANCOUNT"));
    }

    static void errors(Connection c) {
        for (String sql : new String[] {"INSERT INTO dbo.t (id) VALUES (1)", "SELECT * FROM dbo.missing",
                "SELECT 1 / 0", "THROW 50001, N'mine', 3"}) {
            try {
                run(c, sql);
                say(sql, "no error");
            } catch (SQLException e) {
                say("error " + e.getErrorCode(), e.getSQLState());
            }
        }
    }

    static void timeout(Connection c, String url) throws Exception {
        try (Connection other = DriverManager.getConnection(url)) {
            other.setAutoCommit(false);
            run(other, "UPDATE dbo.t SET v = N'held' WHERE id = 3");
            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                s.execute("UPDATE dbo.t SET v = N'waits' WHERE id = 3");
                say("timeout", "no error");
            } catch (SQLTimeoutException e) {
                say("timeout", "SQLTimeoutException");
            }
            other.rollback();
        }
        say("usable", first(c, "SELECT 5"));
    }

    static void metadata(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        try (ResultSet r = m.getTables(null, "dbo", "t", null)) {
            r.next();
            say("table", r.getString("TABLE_NAME"));
        }
        try (ResultSet r = m.getPrimaryKeys(null, "dbo", "t")) {
            r.next();
            say("key", r.getString("COLUMN_NAME"));
        }
        StringBuilder columns = new StringBuilder();
        try (ResultSet r = m.getColumns(null, "dbo", "t", null)) {
            while (r.next()) columns.append(r.getString("COLUMN_NAME")).append(" ");
        }
        say("columns", columns.toString().trim());
    }
}
