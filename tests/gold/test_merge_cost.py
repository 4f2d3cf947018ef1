"""What a run costs is what it changes: read from Delta's metrics and the statements of dbt."""

import re

import pytest
from laboratory import Laboratory, change, thing, write_models

MODELS = {"things": "", "things_history": "materialized='history'"}
ROWS = 20_000

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def laboratory(open_lakehouse, tmp_path_factory):
    """Tables of 20,000 rows each."""
    lakehouse = open_lakehouse("merge-cost", change=lambda project: write_models(project, MODELS))
    laboratory = Laboratory(lakehouse, tmp_path_factory.mktemp("merge-cost-landing"), MODELS)
    rows = [thing(number, f"thing {number}") for number in range(ROWS)]
    starts = range(0, ROWS, 1000)
    laboratory.deliver(*(change("INSERT", start, *rows[start : start + 1000]) for start in starts))
    return laboratory


def merge_metrics(laboratory, model):
    latest = laboratory.history(model)[0]
    assert latest["operation"] == "MERGE"
    return {name: int(value) for name, value in latest["operationMetrics"].items()}


@pytest.mark.parametrize("keys", [1, 40])
def test_a_batch_rewrites_in_proportion_to_its_keys(laboratory, keys):
    # Far apart, so that no range of keys would do.
    numbers = [number * (ROWS // keys) for number in range(keys)]
    update = [thing(number, f"changed by {keys}") for number in numbers]
    old = [{"name": "before"}] * keys
    laboratory.deliver(change("UPDATE", ROWS + keys, *update, old=old))
    whole = laboratory.lakehouse.query("describe detail gold_storage.things")[0]["sizeInBytes"]
    # A changed row is marked as deleted and rewritten; its neighbours are not copied.
    current = merge_metrics(laboratory, "things")
    assert current["numTargetRowsUpdated"] == keys
    # Of the history, the version that ends and the one that begins.
    history = merge_metrics(laboratory, "things_history")
    assert history["numTargetRowsInserted"] == history["numTargetRowsUpdated"] == keys
    for metrics in current, history:
        assert metrics["numTargetRowsCopied"] == 0
        assert metrics["numTargetBytesAdded"] < 20_000 + whole * keys // ROWS * 10


def test_a_batch_reads_the_files_that_can_hold_its_keys(laboratory):
    """New keys are higher than all that there are: the merge looks into no file of theirs."""
    laboratory.deliver(change("INSERT", 2 * ROWS, thing(2 * ROWS, "new")))
    merge = next(sql for sql in statements(laboratory, "things") if "merge into" in sql)
    assert f"stored.`id` = cast('{2 * ROWS}' as bigint)" in merge
    assert merge_metrics(laboratory, "things")["numTargetRowsInserted"] == 1


def test_silver_is_not_read_for_a_table_that_has_nothing_new(laboratory):
    other = change("INSERT", 1, thing(1, "of another table")) | {"table": "others"}
    commits = len(laboratory.history())
    laboratory.deliver(other)
    for model in MODELS:
        assert not [sql for sql in statements(laboratory, model) if "silver.row_images" in sql]
        assert not [sql for sql in statements(laboratory, model) if "silver.events" in sql]
    assert len(laboratory.history()) == commits


def test_older_columns_are_looked_for_once_there_are_any(laboratory):
    """Until a change has come that does not carry all columns, no row can have older ones."""
    position, look = 4 * ROWS, "where _column_sequences is not null"
    whole = change("UPDATE", position, thing(7, "whole"), old=[{"name": "before"}])
    price = change("UPDATE", position + 2, {"id": "7", "price": "2.00"}, old=[{"price": "1.00"}])
    late = change("UPDATE", position + 1, thing(7, "late"), old=[{"name": "whole"}])
    laboratory.deliver(whole)
    assert not [sql for sql in statements(laboratory, "things") if look in sql]
    laboratory.deliver(price)
    laboratory.deliver(late)
    assert [sql for sql in statements(laboratory, "things") if look in sql]
    assert (7, "late", "2.00") in laboratory.rows()
    # No row of the table has taken another key so, hence no row is followed through its keys.
    assert "things names all_changes" not in laboratory.log_of_run()


def statements(laboratory, model):
    """Return the SQL that the last run sent for a model."""
    sent = re.split(r"(?:On |adapter: )model\.cdc_lakehouse\.", laboratory.log_of_run())[1:]
    own = [text for text in sent if text.startswith((f"{model}: ", f"{model} asks"))]
    return [text.partition("SQL status")[0] for text in own]
