"""Append rows to a Delta table in two steps: write and examine the files, then commit them.

A column of a row, such as `is_duplicate`, may depend on other rows of the same commit. Computing it
in the query that makes the rows would send all of them through a shuffle.
"""

import time
from collections.abc import Collection, Iterable
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc_lakehouse.delta.log import delta_log
from cdc_lakehouse.delta.past import note_of
from cdc_lakehouse.runtime.jvm import java_frame, jvm_of
from cdc_lakehouse.storage.files import Location


class Append:
    """Files in the folder of a table, which are no part of the table before `commit`.

    A process that is killed before that leaves files that VACUUM deletes, as after any write.
    """

    def __init__(self, spark: SparkSession, path: Location) -> None:
        self.spark, self.path = spark, path
        self._log = delta_log(spark, path)
        self._transaction = self._log.startTransaction()
        self._files: dict[str, Any] = {}  # objects of Delta's, by the names of the files

    def write(self, rows: DataFrame) -> None:
        """Write rows, which have the columns of the table with their types, to new files.

        Raises:
            Py4JJavaError: a row breaks a constraint of the table.
        """
        written = self._collections.asJava(self._transaction.writeFiles(java_frame(rows)))
        self._files |= {file.path().rpartition("/")[2]: file for file in written}

    def rows(self, names: Iterable[str] | None = None) -> DataFrame:
        """Return the rows that were written, or those of the files of some names."""
        files = self._sequence(self._files[name] for name in names or self._files)
        state, nothing = self._transaction.snapshot(), self._nothing
        return DataFrame(self._log.createDataFrame(state, files, False, nothing), self.spark)

    def rows_with_files(self) -> DataFrame:
        """Return the rows that were written, each with the name of its `file`."""
        file = F.element_at(F.split(F.input_file_name(), "/"), -1)
        return self.rows().withColumn("file", file)

    def rewrite(self, names: Collection[str], rows: DataFrame) -> None:
        """Write rows in place of those of the files of some names, which are deleted."""
        self.write(rows)
        for name in names:
            path = self.path / self._files.pop(name).path()
            file = jvm_of(self.spark).org.apache.hadoop.fs.Path(str(path))
            file.getFileSystem(self._log.newDeltaHadoopConf()).delete(file, False)

    def commit(self, name: str, identifier: int, source: str | None = None) -> None:
        """Make the files a part of the table, and commit an identifier under a name with them.

        Args:
            source: the identifier of the commit up to which the rows of the source were read.

        Raises:
            Py4JJavaError: somebody has committed one under this name meanwhile.
        """
        delta = jvm_of(self.spark).org.apache.spark.sql.delta
        self._transaction.txnVersion(name)  # who has read it conflicts with who writes it
        now = jvm_of(self.spark).scala.Option.apply(int(time.time() * 1000))
        mark = delta.actions.SetTransaction(name, identifier, now)
        mode = jvm_of(self.spark).org.apache.spark.sql.SaveMode.Append
        note = jvm_of(self.spark).scala.Option.apply(
            note_of({name: (identifier, source)}) if source else None
        )
        nothing = self._nothing
        operation = getattr(delta, "DeltaOperations$Write")(
            mode, nothing, nothing, note, *[nothing] * 5
        )
        self._transaction.commit(self._sequence((mark, *self._files.values())), operation)

    def _sequence(self, objects: Iterable[Any]) -> JavaObject:
        """Return objects of Java as a sequence of Scala."""
        listed = jvm_of(self.spark).java.util.ArrayList()
        for each in objects:
            listed.add(each)
        return self._collections.asScala(listed).toSeq()

    @property
    def _collections(self) -> JavaObject:
        return jvm_of(self.spark).scala.jdk.javaapi.CollectionConverters

    @property
    def _nothing(self) -> JavaObject:
        return jvm_of(self.spark).scala.Option.empty()
