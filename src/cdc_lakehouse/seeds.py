"""CSV files of a project's seeds/, as the commands read them."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from cdc_lakehouse.errors import LakehouseError

T = TypeVar("T")


def read_seed(path: Path, checked: Callable[[Any], T]) -> T:
    """Return what `checked` makes of the lines of a file; it is given a reader of module csv.

    Raises:
        LakehouseError: the file cannot be read.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return checked(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise LakehouseError(f"{path} cannot be read as CSV in UTF-8: {reason}.") from None
