"""Write changes of the sources into gold models, and report those that a person has to decide.

A change is written if its policy says so, the source proves it, and the files of the model are as
add-table writes them. Every other change is a finding that says what to write.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cdc_lakehouse.engine.materializations import HISTORY, gold_kind
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.gold.add_table import Gold
from cdc_lakehouse.gold.policies import FILE, Policies, TablePolicy
from cdc_lakehouse.gold.read_models import readers
from cdc_lakehouse.gold.source_changes import SourceChanges
from cdc_lakehouse.gold.sync_model import Finding, ModelSync


def sync(gold: Gold, policies: Policies, changes: Sequence[SourceChanges]) -> list[Finding]:
    """Add the models that policies want, change those that are there; return all findings."""
    found: list[Finding] = []
    for each in changes:
        if policy := policies.of(each.table.names):
            found += _of_table(gold, policy, each)
    models = list(gold.models.values())
    for path, model in gold.models.items():
        read = [each for each in changes if model.reads_table(each.table.names)]
        if read and model.definitions and not model.reads_any_table:
            others = [m for each in read for m in readers(models, each.table.names)]
            excepted = frozenset[str]().union(*(m.excepted for m in others))
            found += ModelSync(gold, policies, path, model, read, excepted).findings()
    return found


def _of_table(gold: Gold, policy: TablePolicy, changes: SourceChanges) -> Iterator[Finding]:
    """Add the models of a table that a line covers and no model reads."""
    table, is_history = changes.joined(), gold_kind(policy.materialization) == HISTORY
    there = gold.reader_of(table)
    if there and (not is_history or gold.reader_of(table, is_history=True)):
        return
    if not there and (reader := _reader_of_former(gold, changes)):
        seen, to_do = reader
        yield Finding(str(table), None, "add", seen, policy.follows("add"), to_do)
        return
    name, key = policy.name_of(table.names), policy.key_columns
    command = f"lakehouse add-table {shlex.quote(str(table))}"
    command += f" --key {shlex.quote(policy.key)}" if key else ""
    command += f" --as {name}" if name and not there else ""
    command += " --history" if is_history else ""
    seen = "has no model of its versions" if there else "has no model"
    problem: str | None = f"Type: {command}"
    if policy.follows("add"):
        try:
            gold.add(table, key, name, is_history)
            problem = None
        except LakehouseError as error:
            problem = f"{error} Correct its line in {FILE}, or type: {command}"
    yield Finding(str(table), None, "add", seen, policy.follows("add"), problem)


def _reader_of_former(gold: Gold, changes: SourceChanges) -> tuple[str, str] | None:
    """Return what to say of a table whose rows a model reads under another name; None if none."""
    for former in changes.former_tables:
        other = replace(changes.table, name=former)
        if reader := gold.reader_of(other):
            seen = f"was called {other}, which {gold.short(reader)} reads"
            return seen, f"Let it read both: row_images('{other}', '{changes.table}')."
    return None
