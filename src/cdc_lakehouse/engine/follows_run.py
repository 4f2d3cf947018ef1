"""The steps of a run of a mart that follows gold tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from cdc_lakehouse.delta.past import Mark
from cdc_lakehouse.engine.change_feed import FeedReading
from cdc_lakehouse.engine.follows import Mart, Read, query_of_feeds
from cdc_lakehouse.engine.rendering import sql
from cdc_lakehouse.engine.steps import Ask, CheckContract, Commit, Plan, Say, Stage

# The query of a mart, by its name, and the name under which the mart notes what it has read.
QUERY, SOURCE = "mart_query", "cdc_lakehouse.follows"


@dataclass(frozen=True)
class MartRun:
    """A run of a mart that follows gold tables.

    Attributes:
        mark: what the rows of the mart note of an earlier run.
        readings: what there is to read of each feed, by the names of the gold models.
        is_new: whether there is no table yet.
        why: why a table that is there is rebuilt; None if it is not.
        columns: the columns of the mart's query.
    """

    mart: Mart
    mark: Mark
    readings: Mapping[str, FeedReading]
    is_new: bool
    why: str | None = None
    columns: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The query of the mart, of the rows whose changes the feeds tell."""
        return query_of_feeds(self.mart, self.readings)

    @property
    def is_build(self) -> bool:
        """Whether the run computes all rows."""
        return self.is_new or self.why is not None

    @property
    def is_up_to_date(self) -> bool:
        """Whether there is nothing to read."""
        kinds = {reading.kind for reading in self.readings.values()}
        return not self.is_build and kinds == {"nothing"}

    def steps(self) -> Plan[None]:
        """Write the keys that changes touch, or all of them."""
        if self.is_build:
            yield from self._build()
            return
        changed = [f for f in self.mart.followed if self.readings[f.name].kind == "changes"]
        for followed in changed:
            yield Stage(
                followed.touched, sql.touched_values(followed, self.readings[followed.name])
            )
        yield Stage("touched_keys", sql.touched_keys(self.mart, changed, QUERY))
        if not (yield Ask("select 1 from touched_keys limit 1")):
            yield self._commit(sql.commit_only_mart(self.mart))
            return
        yield Stage("mart_changes", sql.changes_of_mart(self.mart, QUERY))
        yield self._commit(sql.merge_changes_of_mart(self.mart, self.columns), is_staged=True)

    def _build(self) -> Plan[None]:
        mart = self.mart
        if self.why is not None:
            yield Say(f"{mart.relation} is rebuilt: {self.why}")
        if mart.columns:
            yield CheckContract(mart.columns, self.query)
        yield self._commit(sql.replace_mart(mart, QUERY))

    def _commit(self, statement: str, is_staged: bool = False) -> Commit:
        """The statement that writes the mart, and with its rows what it has read."""
        version = (self.mark.version or 0) + 1
        read = Read.of(self.mart, self.readings).text
        return Commit(
            statement, self.mart.relation, SOURCE, version, self.is_build, is_staged, read
        )
