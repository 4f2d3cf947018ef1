"""The dbt adapter `type: lakehouse`: dbt-spark with Spark and Delta in the dbt process."""

import sqlparse.engine.grouping
from dbt.adapters.base.plugin import AdapterPlugin
from dbt.flags import get_flags

from cdc_lakehouse.package import takes_silver
from cdc_lakehouse.runtime.project import project_folder
from dbt.adapters.lakehouse.connections import LakehouseConnectionManager, LakehouseCredentials
from dbt.adapters.lakehouse.impl import LakehouseAdapter
from dbt.include import lakehouse

__all__ = ["LakehouseAdapter", "LakehouseConnectionManager", "LakehouseCredentials", "Plugin"]


def __getattr__(name: str) -> AdapterPlugin:
    """Return `Plugin`, which dbt asks for in each invocation: it brings silver with it.

    Not to a project that has silver in its folders, as that of this repository, nor to one that
    routes no topics.
    """
    if name != "Plugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    project = getattr(get_flags(), "PROJECT_DIR", None) or project_folder()
    silver = ["lakehouse_silver"] if takes_silver(project) else []
    return AdapterPlugin(
        # dbt's own adapters do not fit its protocol, either.
        adapter=LakehouseAdapter,  # type: ignore[arg-type]
        credentials=LakehouseCredentials,
        include_path=lakehouse.PACKAGE_PATH,
        dependencies=[*silver, "spark"],
    )


# What compiles models without dbt's command line, as sqlfluff does, has a limit that formats pass.
sqlparse.engine.grouping.MAX_GROUPING_TOKENS = None  # type: ignore[assignment]
