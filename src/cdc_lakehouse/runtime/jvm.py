"""The Java of a session."""

from py4j.java_gateway import JVMView
from pyspark.sql import SparkSession


def jvm_of(spark: SparkSession) -> JVMView:
    """Return what names the classes of Java; PySpark says that a session may have none."""
    jvm = spark._jvm
    assert jvm is not None
    return jvm
