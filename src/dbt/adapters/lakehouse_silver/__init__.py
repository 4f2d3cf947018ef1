"""The models and macros of silver, as a dbt package that is there wherever cdc_lakehouse is.

dbt takes packages from the folder dbt_packages, and from adapters. No profile names this adapter.
"""

from dbt.adapters.base.plugin import AdapterPlugin

from cdc_lakehouse.package import PACKAGE, PRODUCT
from dbt.adapters.lakehouse.connections import LakehouseCredentials
from dbt.adapters.lakehouse.impl import LakehouseAdapter


class PackageAdapter(LakehouseAdapter):
    @classmethod
    def type(cls) -> str:
        return "lakehouse_silver"


Plugin = AdapterPlugin(
    adapter=PackageAdapter,  # type: ignore[arg-type]
    credentials=LakehouseCredentials,
    include_path=str(PACKAGE),
    project_name=PRODUCT,
)
