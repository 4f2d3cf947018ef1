"""Find the tables that the dbt project makes of the messages, and how to clean each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cdc_lakehouse.engine import plain_table
from cdc_lakehouse.engine.materializations import gold_kind

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

# What dbt makes without copying rows; silver.events is edited, not rebuilt.
UNCOPIED = ("view", "ephemeral", "change_log")
PRIMARY_KEY = "primary_key"
UNKNOWN_REMEDY = (
    "no model of this project makes it: rebuild it where it is made, or delete the rows"
)


@dataclass(frozen=True)
class Maker:
    """A node of the project that makes a table."""

    kind: str  # gold, model, snapshot, test or seed
    name: str
    table: str
    is_kept: bool = False  # a model that is not to be rebuilt
    of: str | None = None  # the gold table of which a snapshot keeps whole rows

    def remedy(self) -> str:
        """Return what a person can do about rows of the table, as the end of a sentence."""
        if self.kind == "snapshot":
            return f"delete the rows that are of the subject: the snapshot {self.name} keeps them"
        if self.kind == "test":
            return f"run `dbt test -s {self.name} --store-failures`, which replaces it"
        if self.is_kept:
            return (
                f"delete the rows that are of the subject: the model {self.name} says "
                "full_refresh: false, so it is not rebuilt"
            )
        return f"run `dbt run --full-refresh -s {self.name}`"


class Project:
    """The tables that the dbt project makes of the messages, read from its manifest."""

    def __init__(self, manifest: "Manifest") -> None:
        manifest.build_parent_and_child_maps()
        self.children, self.parents = manifest.child_map, manifest.parent_map
        self.nodes = manifest.nodes
        self.sources = [s.unique_id for s in manifest.sources.values() if s.schema == "bronze"]

    def makers(self, is_fed: Callable[[str], bool]) -> list[Maker]:
        """Return what makes tables of the messages.

        Args:
            is_fed: whether a gold model, by its name, takes rows of the subjects; what is made of
                the others alone holds nothing of them.
        """
        found, seen, waiting = [], set(self.sources), list(self.sources)
        while waiting:
            for child in self.children.get(waiting.pop(), []):
                if child in seen or child not in self.nodes:
                    continue
                seen.add(child)
                makers = self._makers(self.nodes[child])
                if any(m.kind == "gold" and not is_fed(m.name) for m in makers):
                    continue
                waiting.append(child)
                found += makers
        return sorted(found, key=lambda maker: maker.name)

    def gold(self) -> list[Any]:
        """Return the nodes of all gold models that are made of the messages."""
        names = {maker.name for maker in self.makers(lambda name: True) if maker.kind == "gold"}
        return [n for n in self.nodes.values() if n.name in names and _kind(n) == "gold"]

    def key_of(self, name: str) -> list[str]:
        """Return the columns of the key of a gold model, as its YAML says."""
        (node,) = (node for node in self.gold() if node.name == name)
        key = [c for given in node.constraints if given.type == PRIMARY_KEY for c in given.columns]
        for column in node.columns.values():
            if any(given.type == PRIMARY_KEY for given in column.constraints):
                key.append(column.name)
        return key

    def known_tables(self) -> set[str]:
        """Return the tables that the project makes, whatever of."""
        return {table for node in self.nodes.values() if _kind(node) for table in tables_made(node)}

    def seeds(self) -> dict[str, str]:
        """Return the files of the seeds by their tables."""
        nodes = (node for node in self.nodes.values() if _kind(node) == "seed")
        return {table_of(node): node.original_file_path for node in nodes}

    def _makers(self, node: Any) -> list[Maker]:
        kind = _kind(node)
        if kind is None or kind == "seed":
            return []
        is_kept = kind == "model" and node.config.full_refresh is False
        whole_rows_of = self._whole_rows_of(node)
        return [Maker(kind, node.name, t, is_kept, whole_rows_of) for t in tables_made(node)]

    def _whole_rows_of(self, node: Any) -> str | None:
        """Return the name of the gold model whose rows a snapshot keeps as they are, if any."""
        if _kind(node) != "snapshot":
            return None
        parents = [self.nodes.get(name) for name in self.parents.get(node.unique_id, [])]
        if len(parents) != 1 or parents[0] is None or _kind(parents[0]) != "gold":
            return None
        # A query of a snapshot may give the columns of its rows other names.
        return parents[0].name if _is_plain(node) else None


def _is_plain(node: Any) -> bool:
    """Tell whether a snapshot's query takes every column of its one reference."""
    words = (node.raw_code or "").lower().split()
    return words[:3] == ["select", "*", "from"] and not {"join", "union", "lateral"} & set(words)


def _kind(node: Any) -> str | None:
    """Return what a node of the manifest makes; None if it makes no table."""
    kind = str(node.resource_type)
    if kind == "model":
        if gold_kind(node.config.materialized):
            return "gold"
        return None if node.config.materialized in UNCOPIED else "model"
    return kind if kind in ("snapshot", "test", "seed") else None


def table_of(node: Any) -> str:
    """Return the schema and the name of a node's table, with a dot between."""
    return tables_made(node)[0]


def tables_made(node: Any) -> list[str]:
    """Return the tables of a node: of a gold model also the copy that it may keep for others."""
    suffixes = ("_storage", plain_table.SUFFIX) if _kind(node) == "gold" else ("",)
    return [f"{node.schema}{suffix}.{node.alias}" for suffix in suffixes]
