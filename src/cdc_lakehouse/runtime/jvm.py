"""The Java objects of a session for which PySpark 4.2 has no public name.

No other module uses a private attribute of PySpark, so that a new release is checked in one place.
"""

import logging
from subprocess import Popen
from typing import Any

from py4j.java_gateway import JavaGateway, JavaObject, JVMView
from pyspark import SparkConf, SparkContext
from pyspark.sql import DataFrame, SparkSession


def jvm_of(spark: SparkSession) -> JVMView:
    """Return what names the classes of Java; PySpark says that a session may have none."""
    jvm = spark._jvm
    assert jvm is not None
    return jvm


def java_session(spark: SparkSession) -> JavaObject:
    """Return the session itself: of its state and its sessions Python knows little."""
    return spark._jsparkSession


def java_context(context: SparkContext) -> JavaObject:
    """Return the context itself: Hadoop's configuration, executors, whether it has stopped."""
    return context._jsc


def java_frame(rows: DataFrame) -> JavaObject:
    """Return the rows as Java has them: their plan, and what Delta's own classes take."""
    return rows._jdf


def external_catalog(spark: SparkSession) -> JavaObject:
    """Return what the metastore knows, without a query, which the public catalog takes."""
    return java_session(spark).sharedState().externalCatalog()


def running_context() -> SparkContext | None:
    """Return the context that this process runs, and start none, as the public way does."""
    return SparkContext._active_spark_context


def start_java(conf: SparkConf) -> None:
    """Start Java, and no Spark in it; the Spark that starts later is in the same Java."""
    SparkContext._ensure_initialized(conf=conf)


def java_of_process() -> JVMView | None:
    """Return what names the classes of the Java that this process has started."""
    return SparkContext._jvm


def java_seconds(jvm: JVMView) -> tuple[float, float]:
    """Return the seconds of CPU that a Java has taken since it began, and those of its compilers.

    The second figure is the time in which they were at work, in all their threads.
    """
    taken: int = jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get().toMillis()
    compilers = jvm.java.lang.management.ManagementFactory.getCompilationMXBean()
    compiled: int = compilers.getTotalCompilationTime()
    return taken / 1e3, compiled / 1e3


def java_began(jvm: JVMView) -> float:
    """Return when a Java began, in seconds since 1970."""
    began: int = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getStartTime()
    return began / 1e3


def gateway_of_process() -> JavaGateway | None:
    """Return the connection to the Java that this process uses; None before it does."""
    return SparkContext._gateway


def gateway_of(context: SparkContext) -> JavaGateway:
    """Return the connection to the Java of a context."""
    gateway = context._gateway
    assert gateway is not None
    return gateway


def forget_java() -> None:
    """Let the next Spark start a Java of its own."""
    SparkContext._gateway = SparkContext._jvm = None


def java_process() -> "Popen[bytes] | None":
    """Return the process of Java, if this one has started it."""
    process: Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    return process


def leave_errors_to_callers(context: SparkContext) -> None:
    """Let PySpark print no record of an error, and no stack if Java ends: the caller reports it."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    server: Any = context._accumulatorServer
    server.handle_error = lambda *_: None
