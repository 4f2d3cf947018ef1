"""What `lakehouse check` finds, as a data test of dbt has it."""

from pathlib import Path

from dbt.adapters.base.meta import available
from dbt.flags import get_flags

from cdc_lakehouse.delta.log import is_table
from cdc_lakehouse.engine.fixed_names import EVENTS
from cdc_lakehouse.report.findings import findings
from cdc_lakehouse.report.limits import read_limits
from cdc_lakehouse.report.looking import Looker
from cdc_lakehouse.runtime.paths import warehouse_path
from cdc_lakehouse.sql import quoted
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.tables import TablesAdapter

NOTHING = ("", "", "", "")


class FindingsAdapter(TablesAdapter):
    """What is beyond a limit of seeds/limits.csv."""

    @available.parse(lambda *args, **kwargs: "select 1")
    def findings(self) -> str:
        """Return the query of what is beyond a limit: one row per finding, as the command has it.

        Commands that only compile the test ask nothing.
        """
        rows = []
        tests_run = get_flags().WHICH in ("build", "test")
        if tests_run and is_table(warehouse_path(*EVENTS.split("."))):
            project = Path(self.config.project_root)
            with short_errors():
                facts = Looker(self.spark, project).look(is_whole=False)
                found = findings(facts, read_limits(project))
            rows = [(f.limit, f.subject, f.text, f.remedy) for f in found]
        values = ", ".join(f"({', '.join(map(quoted, row))})" for row in rows or [NOTHING])
        condition = "" if rows else " where false"
        return (
            f"select * from values {values} as findings (limit, subject, text, remedy){condition}"
        )
