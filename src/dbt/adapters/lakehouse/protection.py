"""Tell models the lines of seeds/protected_columns.csv that concern them."""

from functools import cached_property
from pathlib import Path

from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.protection import Protection, read_protection
from dbt.adapters.lakehouse.connections import short_errors
from dbt.adapters.lakehouse.tables import Tables

IMAGES = "silver.row_images"
FUNCTION = "protected_images"


class ProtectedColumns:
    """Which columns are protected."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def rows_of(self, step: str, layer: str, is_only_looked_at: bool) -> str:
        """Return the query of the rows of a step of silver as a layer wants them.

        Args:
            step: the name of the step.
            layer: silver or gold.
        """
        return sql.protected_rows(step, layer, self.lines(is_only_looked_at))

    def lines(self, is_only_looked_at: bool = False) -> Protection:
        """Return the lines of seeds/protected_columns.csv as it is now.

        Args:
            is_only_looked_at: whether no table is written, so that SQL may be seen without the key.
        """
        with short_errors():
            root = Path(self.tables.adapter.config.project_root)
            return read_protection(root, needs_key=not is_only_looked_at)

    def check_images(self, protection: Protection) -> None:
        """Refuse to read a silver.row_images that is from before the lines of gold that count.

        Raises:
            DbtRuntimeError: it is.
        """
        view, lines = self._text_of_images, protection.of("gold")
        if protection.digest not in view if lines else FUNCTION in view:
            raise DbtRuntimeError(
                f"{IMAGES} was made with other lines of seeds/protected_columns.csv than it has "
                "now. Run `dbt run -s row_images` first, or `dbt build --selector scheduled`."
            )

    @cached_property
    def _text_of_images(self) -> str:
        """The query of silver.row_images as the models of gold find it, asked once in a run."""
        images = self.tables.named(IMAGES)
        if not self.tables.is_known(images):
            return ""
        text = self.tables.catalog.getTable(images.schema, images.identifier).viewText()
        return text.get() if text.isDefined() else ""
