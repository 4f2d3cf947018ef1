"""The dbt adapter of the lakehouse."""

from multiprocessing.context import SpawnContext
from typing import Any, ClassVar, NoReturn

from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.contracts.connection import AdapterRequiredConfig
from dbt.adapters.spark.impl import SparkAdapter
from dbt.flags import get_flags
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.runtime.project import use_project
from dbt.adapters.lakehouse.change_feed import Feeds
from dbt.adapters.lakehouse.config import LakehouseConfig
from dbt.adapters.lakehouse.connections import TIMINGS, LakehouseConnectionManager
from dbt.adapters.lakehouse.data_tests import DataTests
from dbt.adapters.lakehouse.follows import Follows
from dbt.adapters.lakehouse.gold import Gold
from dbt.adapters.lakehouse.marks import Marks
from dbt.adapters.lakehouse.moments import Moments
from dbt.adapters.lakehouse.parts import Part
from dbt.adapters.lakehouse.protection import ProtectedColumns
from dbt.adapters.lakehouse.seeds import Seeds
from dbt.adapters.lakehouse.silver import Silver
from dbt.adapters.lakehouse.sources import Sources
from dbt.adapters.lakehouse.summaries import Summaries
from dbt.adapters.lakehouse.tables import Tables
from dbt.adapters.lakehouse.views import Views


class LakehouseAdapter(SparkAdapter):
    """dbt-spark with the parts that models, materializations and macros of a lakehouse ask."""

    ConnectionManager = LakehouseConnectionManager
    AdapterSpecificConfigs = LakehouseConfig
    # The materializations of the project enforce these themselves.
    CONSTRAINT_SUPPORT: ClassVar = {  # type: ignore[misc]  # dbt means a class variable, too
        **SparkAdapter.CONSTRAINT_SUPPORT,
        ConstraintType.primary_key: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.check: ConstraintSupport.ENFORCED,
    }

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        TIMINGS.begin()
        # `dbt debug` brings the profile alone.
        use_project(getattr(config, "project_root", None) or get_flags().PROJECT_DIR)
        for name, part in vars(LakehouseAdapter).items():
            if isinstance(part, Part):
                getattr(self, name)  # before several threads make it

    @Part
    def tables(self) -> Tables:
        """The Delta tables of a lakehouse, and the queries of a run."""
        return Tables(self)

    @Part
    def marks(self) -> Marks:
        """How far tables have read each other."""
        return Marks(self.tables)

    @Part
    def views(self) -> Views:
        """The views that runs make."""
        return Views(self.tables)

    @Part
    def protection(self) -> ProtectedColumns:
        """Which columns are protected."""
        return ProtectedColumns(self.tables)

    @Part
    def moments(self) -> Moments:
        """Up to where sources are complete."""
        return Moments(self.tables, self.marks)

    @Part
    def silver(self) -> Silver:
        """The change log, and what is new for it."""
        return Silver(self.tables, self.marks, self.views, self.protection, self.moments)

    @Part
    def gold(self) -> Gold:
        """Gold tables."""
        return Gold(self.tables, self.marks, self.views, self.protection, self.moments)

    @Part
    def sources(self) -> Sources:
        """The source tables of gold models, and the names of their columns."""
        return Sources()

    @Part
    def feeds(self) -> Feeds:
        """The change feeds of gold tables."""
        return Feeds(self.tables, self.gold)

    @Part
    def follows(self) -> Follows:
        """Marts that follow gold tables."""
        return Follows(self.tables, self.marks, self.views, self.feeds)

    @Part
    def summaries(self) -> Summaries:
        """The summaries, and the rows that they keep."""
        return Summaries(self.tables, self.marks)

    @Part
    def data_tests(self) -> DataTests:
        """The answers that data tests need."""
        return DataTests(self.tables, self.marks)

    @Part
    def seeds(self) -> Seeds:
        """Seeds."""
        return Seeds(self.tables)

    def set_macro_resolver(self, macro_resolver: Any) -> None:
        """Look at the names of all models, once dbt has read the project, and do as dbt does.

        Args:
            macro_resolver: the manifest; a caller of macros alone may have one without nodes.
        """
        super().set_macro_resolver(macro_resolver)
        nodes = getattr(macro_resolver, "nodes", {}).values()
        self.views.know_models(node for node in nodes if node.resource_type == "model")

    def pre_model_hook(self, config: Any) -> dict[str, str] | None:
        """Let a seed forget the types of columns that it lacks; return all for the next hook."""
        return self.seeds.forget_types(config)

    def post_model_hook(self, config: Any, context: dict[str, str] | None) -> None:
        """Let a seed have all its types again: the next run may find the columns."""
        if context is not None:
            config.model.config.column_types = context

    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> NoReturn:
        """Refuse a Python model; dbt-spark would send it to Databricks."""
        raise DbtRuntimeError(
            f"{parsed_model['original_file_path']} is a Python model, which this adapter does not "
            "run. Write it in SQL; a function in udfs/ brings Python into SQL."
        )
