"""The dbt adapter `type: lakehouse`: dbt-spark with Spark and Delta in the dbt process."""

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
