"""The statements and settings that SQL over Thrift may use: no path, program or Java.

`Guard.java` checks each statement while it is parsed. It is in Java because calling Python would
slow down every query. These lists say what it lets through. Only sessions of Thrift are checked.
"""

import getpass
from collections.abc import Iterable
from pathlib import Path

from py4j.java_gateway import JavaObject, JVMView
from pyspark.sql import SparkSession

from cdc_lakehouse.runtime.jvm import gateway_of, java_session, jvm_of


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


JAVA = Path(__file__).with_name("Guard.java")
# Names of classes of Spark's and Delta's parsers.
READING = _names("""
    ShowTables ShowTablesExtended ShowTablePartition ShowNamespaces ShowNamespacesCommand ShowViews
    ShowFunctions ShowColumns ShowCreateTable ShowTableProperties ShowPartitions ShowCatalogsCommand
    ShowCurrentNamespaceCommand DescribeRelation DescribeColumn DescribeNamespace DescribeFunction
    DescribeQueryCommand DescribeTablePartition DescribeDeltaHistory DescribeDeltaDetailCommand
    ExplainCommand SetCommand ResetCommand SetCatalogAndNamespace SetNamespaceCommand
    SetCatalogCommand RefreshTable
""")
WRITING = _names("""
    InsertIntoStatement OverwriteByExpression OverwritePartitionsDynamic DeleteFromTable UpdateTable
    MergeIntoTable DeltaMergeInto TruncateTable CreateTable CreateTableAsSelect ReplaceTable
    ReplaceTableAsSelect CreateView CreateViewCommand AlterViewAs CreateNamespace DropTable DropView
    DropNamespace AddColumns RenameColumn DropColumns AlterColumns RenameTable SetTableProperties
    UnsetTableProperties CommentOnTable CommentOnNamespace
""")
# None of them names a class, a catalog or a place, or lets a statement read one.
SETTINGS = _names("""
    spark.sql.session.timeZone spark.sql.shuffle.partitions spark.sql.adaptive.enabled
    spark.sql.autoBroadcastJoinThreshold spark.sql.thriftServer.queryTimeout
    spark.sql.hive.version spark.sql.datetime.java8API.enabled
""")
PINNED = {
    # `select * from text.`FILE``.
    "spark.sql.runSQLOnFiles": "false",
    # `select '${env:NAME}'` and `'${system:NAME}'`.
    "spark.sql.variable.substitute": "false",
}
FUNCTIONS = _names("""
    reflect try_reflect java_method table_changes_by_path python_worker_logs
""")


def open_guarded(spark: SparkSession, is_read_only: bool) -> JavaObject:
    """Return a session for Thrift, whose children are all looked at.

    Args:
        spark: the root session; what it and its other children do is not looked at.
        is_read_only: whether the user who runs this process may only read, as others do.
    """
    jvm = jvm_of(spark)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(JAVA.read_text())
    kind = compiler.getClassLoader().loadClass("Guard")
    pinned = jvm.java.util.HashMap()
    for name, value in PINNED.items():
        pinned.put(name, value)
    lists = [_set(jvm, names) for names in (READING, WRITING, SETTINGS, FUNCTIONS)]
    given = [getpass.getuser(), is_read_only, pinned, *lists]
    gateway = gateway_of(spark.sparkContext)
    arguments = gateway.new_array(jvm.java.lang.Object, len(given))
    for place, each in enumerate(given):
        arguments[place] = each
    guard = kind.getConstructors()[0].newInstance(arguments)
    return guard.open(java_session(spark))


def _set(jvm: JVMView, names: Iterable[str]) -> JavaObject:
    made = jvm.java.util.TreeSet()
    for name in names:
        made.add(name)
    return made
