import java.nio.file.Path;
import liquibase.Scope;
import liquibase.command.CommandScope;
import liquibase.resource.DirectoryResourceAccessor;
import org.flywaydb.core.Flyway;

/** Runs the folders it is given with Flyway or Liquibase, each on its database; a line RESULT for each. */
public class Migrate {
    static void flyway(String url, String user, String password, String folder, boolean again) {
        Flyway flyway =
                Flyway.configure()
                        .dataSource(url, user, password)
                        .locations("filesystem:" + folder)
                        .load();
        if (again) flyway.repair();
        flyway.migrate();
    }

    static void liquibase(String url, String user, String password, String folder) throws Exception {
        Scope.child(
                Scope.Attr.resourceAccessor,
                new DirectoryResourceAccessor(Path.of(folder)),
                () ->
                        new CommandScope("update")
                                .addArgumentValue("url", url)
                                .addArgumentValue("username", user)
                                .addArgumentValue("password", password)
                                .addArgumentValue("changelogFile", "changelog.xml")
                                .execute());
    }

    public static void main(String[] given) {
        String tool = given[0], server = given[1], user = given[2], password = given[3];
        for (int n = 4; n < given.length; n += 2) {
            String url = server.replace("databaseName=master", "databaseName=" + given[n]);
            String said = "ok";
            try {
                if (tool.startsWith("flyway"))
                    flyway(url, user, password, given[n + 1], tool.endsWith("repair"));
                else liquibase(url, user, password, given[n + 1]);
            } catch (Throwable error) {
                said = "";
                for (Throwable t = error; t != null; t = t.getCause()) said += " " + t.getMessage();
            }
            System.out.println("RESULT " + given[n] + " " + said.replaceAll("\\s+", " ").trim());
        }
        System.out.flush();
        System.exit(0);
    }
}
