"""Render the statements of `engine/sql` from the plan of a table.

`sql.latest_rows(changes, model, found)` calls the macro of that name; each file says what its
macros return. An undefined name and a missing macro are errors.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from cdc_lakehouse.engine.order import order_columns, removed_by
from cdc_lakehouse.engine.partial_rows import older_than, sequence_of
from cdc_lakehouse.sql import quoted

FOLDER = Path(__file__).parent / "sql"


class Statements:
    """All macros of `engine/sql`, by their names."""

    def __getattr__(self, name: str) -> Callable[..., str]:
        return lambda *given: getattr(_module(), name)(*given)


sql = Statements()


@cache
def _module() -> Any:
    """The macros, compiled when the first statement is rendered: a run without news needs none."""
    environment = Environment(undefined=StrictUndefined)
    environment.filters["quoted"] = quoted
    rules = (order_columns, removed_by, sequence_of, older_than)
    environment.globals |= {rule.__name__: rule for rule in rules}
    texts = [path.read_text() for path in sorted(FOLDER.glob("*.sql"))]
    return environment.from_string("".join(texts)).make_module()
