"""Tell from log and files whether the change data feed of a Delta table can still be read."""

from urllib.parse import unquote

from cdc_lakehouse.delta.log import actions_of
from cdc_lakehouse.storage.files import Location

# The property with the name of a table's feed; a table that is made again begins one of another.
FEED = "cdc_lakehouse.feed"
# The property that tells which commits have changed no row though they are no longer in the log:
# those of a purge, as `AFTER UP_TO`.
PURGED = "cdc_lakehouse.purged"


def first_lost(path: Location, first: int, last: int) -> int | None:
    """Return the first of some commits whose changes are no longer there; None if all are.

    VACUUM deletes files of the feed when they are older than its retention, and Delta its log.
    """
    for commit in range(first, last + 1):
        try:
            actions = list(actions_of(path, commit))
        except (OSError, ValueError):
            return commit
        # A commit without files of the feed has added or removed whole files.
        files = [a["cdc"] for a in actions if "cdc" in a] or [
            action[name]
            for action in actions
            for name in ("add", "remove")
            if name in action and action[name]["dataChange"]
        ]
        if not all((path / unquote(file["path"])).exists() for file in files):
            return commit
    return None


def first_after_purge(purged: str | None, first: int) -> int:
    """Return the first of the commits from `first` on that a purge has not removed from the log.

    Args:
        purged: the property PURGED of the table.
    """
    if purged is None:
        return first
    after, up_to = map(int, purged.split())
    return up_to + 1 if after < first <= up_to else first
