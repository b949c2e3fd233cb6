import java.sql.*;
import java.util.*;

/** What Microsoft's JDBC driver does with a server; prints one "name=value" line per finding. */
public class Probe {
    static void say(String name, Object value) { System.out.println(name + "=" + value); }

    public static void main(String[] args) throws Exception {
        String url = args[0];
        try (Connection c = DriverManager.getConnection(url)) {
            say("encrypted", url.contains("encrypt=true"));
            say("version", c.getMetaData().getDatabaseMajorVersion());
            say("catalog", c.getCatalog());
            select(c);
            types(c);
            prepared(c);
            call(c);
            errors(c);
            transactions(c);
            cancel(c);
            large(c);
        }
        pooled(url);
        for (String other : new String[] {"encrypt=false", "encrypt=strict"}) {
            String changed = url.replace("encrypt=true", other);
            if (other.endsWith("strict")) {
                changed = changed.replace("trustServerCertificate=true", "serverCertificate=" + args[1])
                    + ";hostNameInCertificate=localhost";
            }
            try (Connection c = DriverManager.getConnection(changed)) {
                say(other, first(c, "select 4"));
            }
        }
        try {
            DriverManager.getConnection(url.replaceAll("password=\\{[^}]*\\}", "password=x")).close();
        } catch (SQLException e) {
            say("wrong password", e.getErrorCode());
        }
    }

    static Object first(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getObject(1);
        }
    }

    static void select(Connection c) throws SQLException {
        say("select", first(c, "select 1"));
        say("valid", c.isValid(5));
    }

    static void types(Connection c) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("every type")) {
            int count = r.getMetaData().getColumnCount();
            r.next();
            for (int i = 1; i <= count; i++) {
                Object value = r.getObject(i);
                if (value instanceof SQLXML) value = ((SQLXML) value).getString();
                if (value instanceof Clob) value = ((Clob) value).getSubString(1, 40);
                if (value instanceof byte[]) value = "bytes " + ((byte[]) value).length;
                String text = String.valueOf(value);
                say(r.getMetaData().getColumnName(i), text.length() > 60 ? "long " + text.length() : text);
            }
            r.next();
            int nulls = 0;
            for (int i = 1; i <= count; i++) {
                r.getObject(i);
                if (r.wasNull()) nulls++;
            }
            say("nulls", nulls == count);
        }
    }

    static void prepared(Connection c) throws SQLException {
        // sp_executesql first, then sp_prepexec, then sp_execute.
        StringBuilder out = new StringBuilder();
        try (PreparedStatement p = c.prepareStatement("select ?, ?")) {
            for (int i = 0; i < 4; i++) {
                p.setInt(1, i);
                p.setString(2, "v" + i);
                try (ResultSet r = p.executeQuery()) {
                    r.next();
                    out.append(r.getInt(1)).append(r.getString(2)).append(' ');
                }
            }
        }
        say("prepared", out.toString().trim());
        try (PreparedStatement p = c.prepareStatement("insert ?")) {
            for (int i = 0; i < 5; i++) {
                p.setInt(1, i);
                p.addBatch();
            }
            say("batch", Arrays.toString(p.executeBatch()));
        }
    }

    static void call(Connection c) throws SQLException {
        try (CallableStatement s = c.prepareCall("{call dbo.usp_Send(?,?)}")) {
            s.setString(1, "x");
            s.setBytes(2, new byte[] {1, 2});
            s.execute();
            say("call", "done");
        }
    }

    static void errors(Connection c) throws SQLException {
        for (String name : new String[] {"duplicate", "deadlock", "missing"}) {
            try (Statement s = c.createStatement()) {
                s.execute("error " + name);
            } catch (SQLException e) {
                say(name, e.getSQLState() + " " + e.getErrorCode());
            }
        }
        try (Statement s = c.createStatement()) {
            s.execute("print hello");
            say("print", s.getWarnings().getMessage());
        }
    }

    static void transactions(Connection c) throws SQLException {
        c.setAutoCommit(false);
        first(c, "select 1");
        c.commit();
        c.rollback();
        c.setAutoCommit(true);
        say("transactions", "done");
    }

    static void cancel(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            s.execute("waitfor");
        } catch (SQLException e) {
            say("timeout", e.getClass().getSimpleName());
        }
        say("after timeout", first(c, "select 2"));
    }

    static void pooled(String url) throws SQLException {
        com.microsoft.sqlserver.jdbc.SQLServerConnectionPoolDataSource source =
            new com.microsoft.sqlserver.jdbc.SQLServerConnectionPoolDataSource();
        source.setURL(url);
        javax.sql.PooledConnection pool = source.getPooledConnection();
        try (Connection c = pool.getConnection()) {
            first(c, "select 1");
        }
        try (Connection c = pool.getConnection()) {
            say("pooled", first(c, "select 2"));
        }
        pool.close();
    }

    static void large(Connection c) throws SQLException {
        int rows = 0;
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("rows 20000")) {
            while (r.next()) rows++;
        }
        say("rows", rows);
    }
}
