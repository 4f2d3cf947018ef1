"""The dbt adapter `type: lakehouse`: dbt-spark with Spark and Delta in the dbt process."""

import sqlparse.engine.grouping
from dbt.adapters.base import AdapterPlugin

from dbt.adapters.lakehouse.connections import LakehouseConnectionManager, LakehouseCredentials
from dbt.adapters.lakehouse.impl import LakehouseAdapter
from dbt.include import lakehouse

__all__ = ["LakehouseAdapter", "LakehouseConnectionManager", "LakehouseCredentials", "Plugin"]

Plugin = AdapterPlugin(
    adapter=LakehouseAdapter,
    credentials=LakehouseCredentials,
    include_path=lakehouse.PACKAGE_PATH,
    dependencies=["spark"],
)

# What compiles models without dbt's command line, as sqlfluff does, has a limit that formats pass.
sqlparse.engine.grouping.MAX_GROUPING_TOKENS = None
