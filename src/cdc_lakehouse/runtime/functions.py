"""Register the Python functions of udfs/ so that every session and view sees them."""

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.package import sources
from cdc_lakehouse.runtime.java_environment import give_to_functions
from cdc_lakehouse.runtime.jvm import java_session, jvm_of

PACKAGE = "udfs"


def register_functions(spark: SparkSession, project_dir: Path) -> None:
    """Call `register(spark, project_dir)` of every udfs/*.py, then inject what it registered.

    The files are those of cdc_lakehouse, and beside them the project's.

    A registered function belongs to one session; injected into the session's extensions it is
    there in every session that is made from it, also in permanent views. Files whose names begin
    with `_` hold what the others share (`from udfs._avro import ...`) and register nothing.

    Raises:
        LakehouseError: a file has no `register`, or fails, or has the name of another; the text
            names the file.
    """
    files: dict[str, Path] = {}
    for path in (path for each in open_package(project_dir) for path in sorted(each.glob("*.py"))):
        if path.stem in files:
            raise LakehouseError(
                f"{path} has the name of a file of cdc_lakehouse, {files[path.stem]}. Rename it."
            )
        files[path.stem] = path
    give_to_functions(spark.sparkContext)
    for path in (path for name, path in files.items() if not name.startswith("_")):
        try:
            importlib.import_module(f"{PACKAGE}.{path.stem}").register(spark, project_dir)
        except Exception as error:
            raise LakehouseError(f"{path} could not be registered: {error}") from error
    _inject(spark)


def open_package(project_dir: Path) -> list[Path]:
    """Make the files of a project's udfs/ the package `udfs`, in place of any other project's.

    What is pickled of it is pickled by value, so that workers need neither files nor modules.

    Returns:
        The folders of the package.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    importlib.invalidate_caches()
    spec = ModuleSpec(PACKAGE, None, is_package=True)
    folders = [each / PACKAGE for each in sources(project_dir)]
    spec.submodule_search_locations = [str(folder) for folder in folders]
    sys.modules[PACKAGE] = module_from_spec(spec)
    cloudpickle.register_pickle_by_value(sys.modules[PACKAGE])
    return folders


def _inject(spark: SparkSession) -> None:
    jvm, session = jvm_of(spark), java_session(spark)
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
