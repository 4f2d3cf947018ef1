"""What Hive's tables in the embedded Derby have to be able to hold."""

from pyspark.sql import SparkSession

VIEW_TEXTS = ("VIEW_ORIGINAL_TEXT", "VIEW_EXPANDED_TEXT")
NARROW = """select columnname from sys.syscolumns inner join sys.systables on referenceid = tableid
    where tablename = 'TBLS' and cast(columndatatype as varchar(64)) like 'LONG VARCHAR%'"""


def widen_view_texts(spark: SparkSession, url: str) -> None:
    """Let views be as long as they are: Hive gives their texts LONG VARCHAR, 32,700 characters.

    Derby cannot alter that type, so new columns take the texts and the names of the old ones, in
    one transaction. A metastore that has been widened is left as it is.

    Args:
        url: the JDBC address of the Derby that Spark uses as its metastore.
    """
    spark.sql("show databases")  # the first question lets Hive make its tables
    connection = spark._jvm.java.sql.DriverManager.getConnection(url)
    try:
        connection.setAutoCommit(False)
        statement = connection.createStatement()
        found, narrow = statement.executeQuery(NARROW), []
        while found.next():
            narrow.append(found.getString(1))
        found.close()
        for name in (name for name in VIEW_TEXTS if name in narrow):
            statement.execute(f"alter table app.tbls add column long_{name} clob")
            statement.execute(f"update app.tbls set long_{name} = cast({name} as clob)")
            statement.execute(f"alter table app.tbls drop column {name} restrict")
            statement.execute(f"rename column app.tbls.long_{name} to {name}")
        connection.commit()
    finally:
        connection.rollback()
        connection.close()
