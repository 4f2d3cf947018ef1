"""The dbt adapter of the lakehouse."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from dbt.adapters.base.column import Column
from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterRequiredConfig
from dbt.adapters.events.types import AdapterEventWarning
from dbt.adapters.spark.impl import SparkAdapter
from dbt.flags import get_flags
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.events.functions import warn_or_error
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.delta.statements import (
    constraints_without_effect,
    drop_columns,
    hold_to_constraints,
)
from cdc_lakehouse.package import PACKAGE, takes_silver
from cdc_lakehouse.routes import read_routes
from cdc_lakehouse.runtime.project import use_project
from cdc_lakehouse.runtime.session import compile_plans
from dbt.adapters.lakehouse.change_feed import FeedsAdapter
from dbt.adapters.lakehouse.config import LakehouseConfig
from dbt.adapters.lakehouse.connections import (
    TIMINGS,
    LakehouseConnectionManager,
    short_errors,
)
from dbt.adapters.lakehouse.findings import FindingsAdapter
from dbt.adapters.lakehouse.passed_tests import PassedTestsAdapter
from dbt.adapters.lakehouse.seeds import SeedsAdapter
from dbt.adapters.lakehouse.silver import SilverAdapter
from dbt.adapters.lakehouse.summaries import SummariesAdapter
from dbt.adapters.lakehouse.views import DEFINITION
from dbt.include.lakehouse import PACKAGE_PATH


class LakehouseAdapter(
    FeedsAdapter, SilverAdapter, SummariesAdapter, PassedTestsAdapter, FindingsAdapter, SeedsAdapter
):
    """The adapter: what models, materializations and macros can ask."""

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

    @available.parse(lambda *args, **kwargs: None)
    def compile_queries(self, is_worth_it: bool) -> None:
        """Let the next queries of this thread be compiled, or interpreted."""
        compile_plans(self.spark, is_worth_it)

    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> NoReturn:
        """Refuse a Python model; dbt-spark would send it to Databricks."""
        raise DbtRuntimeError(
            f"{parsed_model['original_file_path']} is a Python model, which this adapter does not "
            "run. Write it in SQL; a function in udfs/ brings Python into SQL."
        )

    @available.parse(lambda *args, **kwargs: [])
    def statements_of_constraints(
        self, relation: BaseRelation, columns: Mapping[str, Any]
    ) -> list[str]:
        """Return what holds a plain table to its columns' constraints; warn of what has no effect.

        Args:
            columns: those of the model's YAML, by their names.
        """
        for left_out in constraints_without_effect(columns.values()):
            said = (
                f"{relation}.{left_out} has no effect in a plain table, only not_null and check "
                "have."
            )
            warn_or_error(AdapterEventWarning(name="Lakehouse", base_msg=said))
        return hold_to_constraints(str(relation), columns.values())

    @available.parse(lambda *args, **kwargs: [])
    def statements_of_dropping(
        self, relation: BaseRelation, columns: Iterable[Column]
    ) -> list[str]:
        """Return what takes columns out of a plain table; nothing if there are none."""
        gone = [column.name for column in columns]
        return drop_columns(relation.render(), gone) if gone else []

    @available.parse(lambda *args, **kwargs: "{}")
    def routes(self) -> str:
        """Return the routes of seeds/topics.csv as it is now, as JSON."""
        with short_errors():
            return read_routes(Path(self.config.project_root)).as_json()

    @available.parse(lambda *args, **kwargs: "")
    def definition_of_view(self, sql: str) -> str:
        """Return a name for what decides what a view of this project is: its SQL and all files.

        The columns of a view are those that the models below it had when it was made.
        """
        return hashlib.md5((sql + self._digest_of_project).encode()).hexdigest()

    @cached_property
    def _digest_of_project(self) -> str:
        root = Path(self.config.project_root)
        folders = [root / name for name in (*self.config.model_paths, *self.config.macro_paths)]
        folders.append(Path(PACKAGE_PATH) / "macros")
        if takes_silver(root):
            folders += [PACKAGE / "models", PACKAGE / "macros"]
        files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        variables = [self.config.vars.to_dict(), self.config.cli_vars]
        digest = hashlib.md5(json.dumps(variables, sort_keys=True, default=str).encode())
        for path in [root / "dbt_project.yml", *files]:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    @available.parse(lambda *args, **kwargs: True)
    def is_to_be_made(self, existing: BaseRelation | None, sql: str, full_refresh: bool) -> bool:
        """Tell whether a view is made: it is missing, was made of something else, or replaced.

        Args:
            existing: the relation of its name, if there is one.
            sql: its query.
            full_refresh: whether a person asks to make it again.
        """
        if existing is None or not existing.is_view:
            return True
        if self.reads_a_part_only(sql):
            return False
        if self.is_replaced(existing):
            return True
        is_same = self.view_property(existing, DEFINITION) == self.definition_of_view(sql)
        return full_refresh or not is_same
