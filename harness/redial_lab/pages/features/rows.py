"""The rows of the page: a feature, where twelve peers stand, what ours is, and whom it answers.

The peers were read in full or in part when this project began (2026); what is said of them is what
their published text or code showed then.
"""

from __future__ import annotations

from dataclasses import dataclass

PEERS = {
    "RR": "rusanu.com: the articles on reusing, recycling and resending (2007-2014)",
    "DP": "MSDN: dialog pool sample (2008)",
    "DC": "DCAC / mrdenny: dialogs by application setting (2008)",
    "AP": "Apress: Pro SQL Server 2008 Service Broker, the book's code",
    "MB": "Madeira / Eitan Blumin: asynchronous trigger scripts",
    "RW": "ryanmwright/service-broker-templating (2018)",
    "CK": "CoreyKaylor/servicebroker-queues (2016)",
    "JD": "jdaigle/servicebroker.net (2015)",
    "DK": "drunkcod's broker channel (2016)",
    "SX": "dyatchenko/ServiceBrokerListener, SqlDependencyEx (2022)",
    "ST": "IsNemoEqualTrue SqlTableDependency (2020)",
    "NS": "NServiceBus.SqlServer: tables, no Service Broker",
}


@dataclass(frozen=True)
class Row:
    """One feature. ``have`` and ``partly`` list peers; whoever is in neither has nothing of it."""

    name: str
    have: str
    partly: str
    ours: str
    answers: str
    short: str = ""
    """What tests may call it instead, separated by bars."""


ROWS = (
    Row(
        "reuse of dialogs",
        "RR DP DC AP RW CK",
        "DK ST",
        "One dialog carries a caller's messages until it is recycled; a send begins one only when "
        "there is none or it is dead.",
        "seed 000, seed 001 (a dialog per message cost its author 30%)",
    ),
    Row(
        "pool shared by sessions",
        "DP CK",
        "DC",
        "key = pool: all rows exist from deployment, a free slot is sought past the busy ones and "
        "comes back at commit, so a crash cannot leak it; all busy is a bounded wait and error "
        "50101.",
        "seed 001 (commit-time locks: a pool beats one dialog)",
        "pool shared",
    ),
    Row(
        "affinity key other than SPID",
        "DC",
        "CK",
        "key = application: the caller names what belongs together; spid, pool, single and message "
        "are chosen the same way.",
        "seed 000 comments 2 and 3 (parallel processing, related messages)",
        "affinity",
    ),
    Row(
        "recycle by age",
        "RR DC AP RW",
        "DP DK ST",
        "recycle = timer (conversation timer and activation) or aged_out (in the sender), each "
        "with a random spread.",
        "seed 000; seed 002 (age in the sender as the way out)",
        "by age",
    ),
    Row(
        "recycle by message count",
        "DP",
        "",
        "recycle = aged_out with after_messages and a random spread.",
        "MSDN dialog pool",
        "message count",
    ),
    Row(
        "EndOfStream, target ends first",
        "RR DC AP RW",
        "DP",
        "EndOfStream is sent once, by the transaction that owns the dialog's row; the target "
        "answers it by END, the initiator ends on EndDialog.",
        "seed 000, seed 003 (the target ends first, without exception)",
        "endofstream|target ends first",
    ),
    Row(
        "sender-never-victim claim",
        "",
        "",
        "The recycling procedure takes the row before the conversation group, as the sender does, "
        "in a transaction of its own: no cycle contains it. Searched over every schedule.",
        "seed 002 (the deadlock graph); NServiceBus issue 308",
        "never-victim|never victim",
    ),
    Row(
        "resend of pending on error",
        "NS",
        "RR JD",
        "After an error that says nothing against the message, and after EndDialog, pending "
        "messages go byte-exact and in order on a private dialog; after any other they are "
        "dead-lettered with the code. Before the END, in its transaction.",
        "seed 004 (VARBINARY without a length; nobody makes @newConversation)",
        "resend",
    ),
    Row(
        "dedupe / idempotency",
        "NS",
        "RR",
        "delivery = exactly_once: a message id travels in an envelope and the target's inbox drops "
        "repeats, those of a caller's own retry too.",
        "seed 004 (resending is prone to duplicates)",
        "dedupe|exactly once",
    ),
    Row(
        "batch / set-based receive",
        "RR NS",
        "",
        "RECEIVE takes a set of configured size into a table variable; sending in bulk is one "
        "round trip too.",
        "most peers receive TOP (1)",
        "batch",
    ),
    Row(
        "priorities",
        "AP",
        "RR",
        "priority.level makes a broker priority for the configuration's own services.",
        "Apress, chapter 10; FRK#2187 (HONOR_BROKER_PRIORITY lost on a move)",
        "priority",
    ),
    Row(
        "poison handling",
        "JD NS",
        "RR AP MB DK ST",
        "A row that cannot land costs at most one rollback, is dead-lettered with its error, and "
        "can be listed, replayed and purged; it never brings five rollbacks in a row about.",
        "thread ST#229; RW switches the broker's own protection off",
        "poison|dead letter",
    ),
    Row(
        "signing / permissions",
        "RR AP NS",
        "RW CK JD SX ST",
        "An application needs EXECUTE on usp_Send and nothing else; one principal per "
        "configuration; a certificate signs where membership of db_owner is not wanted.",
        "threads dyatchenko#13, dyatchenko#42, dyatchenko#1",
        "signing|permissions",
    ),
    Row(
        "leak cleanup",
        "RR",
        "DP AP RW SX ST",
        "usp_EndLeaked shows, and ends on request, endpoints nobody will end; nothing else uses "
        "WITH CLEANUP.",
        "seed 003; threads dyatchenko#64, ST#30, ST#45, ST#56",
        "leak",
    ),
    Row(
        "monitoring",
        "NS",
        "RR DP AP MB RW CK JD DK ST",
        "Views and a health procedure: finding, object, figure, advice; none scans a queue's "
        "bodies.",
        "NSB#481, NSB#605 (counting a long queue stops the receiver)",
        "health",
    ),
    Row(
        "idempotent deploy",
        "RW DK SX ST NS",
        "AP MB JD",
        "Each script can be run again: nothing is dropped that carries rights, tables change by "
        "numbered migrations, each file stops behind the first error even where sqlcmd goes on.",
        "DacFx#338 (a publish turned the broker off)",
        "versions|deploy",
    ),
    Row(
        "rollback / uninstall",
        "SX ST NS",
        "DP DK",
        "uninstall drains every dialog before it drops anything and keeps the data; with "
        "--purge-data the catalog is as it was before.",
        "Flyway's clean leaves contracts, types and live dialogs",
        "uninstall",
    ),
    Row(
        "deadlock or concurrency tests",
        "NS",
        "SX ST",
        "The explorer searches every state of a scenario over the rendered T-SQL; interleavings "
        "are written as numbered steps.",
        "seed 002",
        "concurrency|deadlock test",
    ),
    Row(
        "throughput tests kept",
        "NS",
        "RR DP ST",
        "invoke bench keeps figures of the embedded broker beside a peer; never SQL Server's.",
        "dialog pool's 'equivalent performance', without figures",
        "throughput",
    ),
    Row(
        "templates / multi-service config",
        "RW NS",
        "DC MB CK SX ST",
        "One typed config file per service pair; every combination of choices that makes sense is "
        "rendered and tested; several live in one database.",
        "RW renders one pair, untested",
        "templates|multi-service",
    ),
)
