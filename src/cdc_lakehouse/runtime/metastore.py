"""Correct Hive's tables in the embedded Derby: paths of a moved lakehouse, lengths of views."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from cdc_lakehouse.runtime.jvm import jvm_of

VIEW_TEXTS = ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT")
NARROW = """select columnname from sys.syscolumns inner join sys.systables on referenceid = tableid
    where tablename = 'TBLS' and cast(columndatatype as varchar(64)) like 'LONG VARCHAR%'"""


# Where Hive and Spark keep the folders of schemas, tables and partitions: table, column.
LOCATIONS = (("dbs", "db_location_uri"), ("sds", "location"), ("serde_params", "param_value"))
# The folders that tell where the lakehouse was when the metastore was last used: query, what comes
# behind the lakehouse's own folder.
FORMER = (
    ("select db_location_uri from app.dbs where name = 'default'", "/warehouse"),
    ("select db_location_uri from app.dbs where name = 'bronze'", "/warehouse/bronze.db"),
)


def relocate(spark: SparkSession, url: str, home: Path) -> None:
    """Let the metastore of a lakehouse that was moved, copied or mounted elsewhere name its folder.

    The metastore holds absolute paths. Those of a copy would name the tables of the original, and
    the copy would write into them; so this comes before anybody asks the metastore for a table.
    Tables outside of the lakehouse's folder stay where they are.

    Args:
        url: the JDBC address of the Derby that Spark uses as its metastore.
        home: the folder of the lakehouse as it is called now.
    """
    if not (home / "metastore_db" / "service.properties").exists():
        return
    with _transaction(spark, url) as connection:
        if not texts(connection, "select tablename from sys.systables where tablename = 'DBS'"):
            return  # a run was killed before Hive had made its tables
        here, former = f"file:{home}", set()
        for query, behind in FORMER:
            former |= {
                path.removesuffix(behind)
                for path in texts(connection, query)
                if path.startswith("file:/") and path.endswith(behind)
            }
        for there in sorted(former - {here}):
            for table, column in LOCATIONS:
                _replace_folder(connection, table, column, there, here)
            for column in VIEW_TEXTS:
                for prefix in ("", "file:", "file://"):
                    named = [f"`{prefix}{path.removeprefix('file:')}/" for path in (there, here)]
                    _replace_in_views(connection, column, *named)


def _replace_folder(connection: JavaObject, table: str, column: str, there: str, here: str) -> None:
    """Replace a folder, itself or with what is below it, in a column of paths."""
    length = len(there.encode("utf-16-le")) // 2  # Derby counts as Java does
    connection.createStatement().execute(
        f"update app.{table} set {column} = {_derby_text(here)} || substr({column}, {length + 1})"
        f" where {column} = {_derby_text(there)}"
        f" or substr({column}, 1, {length + 1}) = {_derby_text(there + '/')}"
    )


def _replace_in_views(connection: JavaObject, column: str, there: str, here: str) -> None:
    """Replace the beginning of a path where a view reads files by it."""
    statement = connection.createStatement()
    found = statement.executeQuery(
        f"select tbl_id, {column} from app.tbls where locate({_derby_text(there)}, {column}) > 0"
    )
    changed = []
    while found.next():
        changed.append((found.getLong(1), found.getString(2).replace(there, here)))
    found.close()
    update = connection.prepareStatement(f"update app.tbls set {column} = ? where tbl_id = ?")
    for number, text in changed:
        update.setString(1, text)
        update.setLong(2, number)
        update.execute()


def texts(connection: JavaObject, query: str) -> list[str]:
    """Return the first column of a query."""
    found, texts = connection.createStatement().executeQuery(query), []
    while found.next():
        texts.append(found.getString(1))
    found.close()
    return texts


def _derby_text(text: str) -> str:
    """Return a text as Derby takes it, which knows no backslashes; `sql.quoted` is for Spark."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _transaction(spark: SparkSession, url: str) -> Iterator[JavaObject]:
    """Yield a connection whose statements count together, or not at all."""
    connection = jvm_of(spark).java.sql.DriverManager.getConnection(url)
    try:
        connection.setAutoCommit(False)
        yield connection
        connection.commit()
    finally:
        connection.rollback()
        connection.close()


def widen_view_texts(spark: SparkSession, url: str) -> None:
    """Let views be as long as they are: Hive gives their texts LONG VARCHAR, 32,700 characters.

    Derby cannot alter that type, so new columns take the texts and the names of the old ones, in
    one transaction. A metastore that has been widened is left as it is.

    Args:
        url: the JDBC address of the Derby that Spark uses as its metastore.
    """
    spark.sql("show databases")  # the first question lets Hive make its tables
    with _transaction(spark, url) as connection:
        narrow = texts(connection, NARROW)
        statement = connection.createStatement()
        for name in (name for name in VIEW_TEXTS if name in narrow):
            statement.execute(f"alter table app.tbls add column long_{name} clob")
            statement.execute(f"update app.tbls set long_{name} = cast({name} as clob)")
            statement.execute(f"alter table app.tbls drop column {name} restrict")
            statement.execute(f"rename column app.tbls.long_{name} to {name}")
