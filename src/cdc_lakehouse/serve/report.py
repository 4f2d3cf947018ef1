"""The report of a served lakehouse, made again once its tables have changed."""

import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

from cdc_lakehouse.report.findings import findings
from cdc_lakehouse.report.limits import read_limits
from cdc_lakehouse.report.looking import Looker
from cdc_lakehouse.report.page import page
from cdc_lakehouse.serve.figures import latest_versions

FRESH = 60  # seconds for which a page of unchanged tables still tells how late they are


class Report:
    """Makes the page when somebody looks; several who do at once wait for the same one."""

    def __init__(self, spark: SparkSession, project: Path) -> None:
        self._spark, self._project = spark, project
        self._making = threading.Lock()
        self._seen: dict[str, int] = {}
        self._made_at, self._page = 0.0, b""

    def page(self) -> bytes:
        """Return the page, without values of rows.

        Raises:
            LakehouseError: there is no silver yet, or seeds/limits.csv is wrong.
        """
        with self._making:
            now = latest_versions(self._spark)
            if now != self._seen or time.monotonic() - self._made_at > FRESH:
                limits = read_limits(self._project)
                facts = Looker(self._spark, self._project).look()
                self._page = page(facts, findings(facts, limits)).encode()
                self._seen, self._made_at = now, time.monotonic()
            return self._page
