"""Register the Python functions of udfs/ so that every session and view sees them."""

import importlib.util
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError


def register_functions(spark: SparkSession, project_dir: Path) -> None:
    """Call `register(spark, project_dir)` of every udfs/*.py, then inject what it registered.

    A registered function belongs to one session; injected into the session's extensions it is
    there in every session that is made from it, also in permanent views.

    Raises:
        LakehouseError: a file has no `register`, or fails; the text names the file.
    """
    for path in sorted(project_dir.glob("udfs/*.py")):
        spec = importlib.util.spec_from_file_location(f"udfs_{path.stem}", path)
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            module.register(spark, project_dir)
        except Exception as error:
            raise LakehouseError(f"{path} could not be registered: {error}") from error
    _inject(spark)


def _inject(spark: SparkSession) -> None:
    jvm, session = spark._jvm, spark._jsparkSession
    registry = session.sessionState().functionRegistry()
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    some = jvm.scala.Option.apply
    registered = session.sessionState().catalog().listTemporaryFunctions()
    for index in range(registered.size()):
        name = registered.apply(index).funcName()
        full_name = identifier(name, some("session"), some("system"))
        info = registry.lookupFunction(full_name).get()
        builder = registry.lookupFunctionBuilder(full_name).get()
        session.extensions().injectFunction(jvm.scala.Tuple3(identifier(name), info, builder))
