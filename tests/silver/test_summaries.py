"""What summaries show is what there is, whatever happens to the rows that they have counted."""

import random

import pytest
from shop import sample_messages, write_messages
from summaries import check_summaries, keep_always

from cdc_lakehouse.runtime.locks import hold

# Every message is delivered at two offsets; the parts overlap by a third.
SEED, PARTS = 350423, 2
TOPICS = ("shop.orders", "crm.customers")
RUN = ("run", "-s", "events", "message_counts", "result_counts", "column_shapes")

pytestmark = pytest.mark.long


def parts():
    """The sample's messages, twice and in another order, in parts that repeat each other."""
    messages = [message for message in sample_messages() if message[0] in TOPICS]
    rows = [(topic, n % 2, n, value) for n, (topic, value) in enumerate(messages)]
    rows += [(topic, part, n + 100_000, value) for topic, part, n, value in rows]
    rows += [("nowhere", 0, n, b"{}") for n in range(3)]
    random.Random(SEED).shuffle(rows)
    size = len(rows) // PARTS
    return [rows[max(0, part * size - size // 3) : (part + 1) * size + 1] for part in range(PARTS)]


@pytest.fixture(scope="module")
def lake(open_lakehouse, tmp_path_factory):
    """A lakehouse whose summaries have kept what they show after each part of the sample."""
    lakehouse = open_lakehouse("summaries", change=keep_always)
    landing = tmp_path_factory.mktemp("landing")
    for number, rows in enumerate(parts()):
        write_messages(landing / f"{number}.parquet", rows)
        lakehouse.ingest(landing)
        if number == 0:
            lakehouse.dbt("seed")
            lakehouse.dbt("run", "-s", "path:models/silver")
        else:
            check_summaries(lakehouse)  # what has landed and is not processed yet
            lakehouse.dbt(*RUN)
        assert all(check_summaries(lakehouse))
    return lakehouse


def commits(lakehouse, name):
    """The commits of what a summary keeps."""
    return lakehouse.query(f"describe history silver.{name}_kept")


def test_a_run_that_finds_nothing_keeps_nothing_again(lake):
    before = lake.files()
    lake.dbt(*RUN)
    assert lake.files() == before


def test_one_small_file_is_kept(lake):
    for name in ("message_counts", "result_counts", "column_shapes"):
        (row,) = lake.query(f"describe detail silver.{name}_kept")
        assert row["numFiles"] == 1


def test_little_is_not_kept_at_once(lake, tmp_path):
    """But it is shown."""
    project = lake.project / "dbt_project.yml"
    text = project.read_text()
    project.write_text(text.replace("keeps_after_bytes: 0", "keeps_after_bytes: 1000000"))
    before = [len(commits(lake, name)) for name in ("message_counts", "result_counts")]
    write_messages(tmp_path / "more.parquet", [("lab.more", 0, 7, b"?"), ("lab.more", 0, 9, b"?")])
    lake.ingest(tmp_path)
    lake.dbt(*RUN)
    check_summaries(lake)
    (row,) = lake.query(
        "select messages, rejected, missing_offsets from silver.message_accounting"
        " where topic = 'lab.more'"
    )
    assert row == {"messages": 2, "rejected": 2, "missing_offsets": 1}
    assert [len(commits(lake, name)) for name in ("message_counts", "result_counts")] == before
    project.write_text(text)


def test_a_new_route_counts_no_message_twice(lake, tmp_path):
    topics = lake.project / "seeds" / "topics.csv"
    topics.write_text(topics.read_text() + "nowhere,dts_canal,,,,\n")
    code, said, error = lake.command("reroute")
    assert code == 0 and "nowhere" in said, error
    check_summaries(lake)
    lake.dbt(*RUN)
    assert all(check_summaries(lake))


def test_messages_that_are_processed_again(lake):
    code, _, error = lake.command("replay", "--topic", "shop.orders")
    assert code == 0, error
    check_summaries(lake)
    lake.dbt(*RUN)
    assert all(check_summaries(lake))


def test_rows_that_a_person_deletes(lake):
    """The next run notices."""
    lake.query("delete from silver.events where topic = 'lab.more'")
    lake.dbt(*RUN)
    assert all(check_summaries(lake))
    lake.dbt(*RUN, "--full-refresh")
    assert all(check_summaries(lake))


def test_another_query_forgets_what_was_kept(lake):
    model = lake.project / "models" / "silver" / "result_counts.sql"
    model.write_text(f"{model.read_text()}-- counted otherwise\n")
    before = check_summaries(lake)
    lake.query("update silver.result_counts_kept set results = results + 1")
    with pytest.raises(AssertionError, match="result_counts"):
        check_summaries(lake)
    lake.dbt(*RUN)
    assert check_summaries(lake) == before


def test_nothing_is_kept_of_messages_that_are_being_changed(lake, tmp_path):
    write_messages(tmp_path / "more.parquet", [("lab.more", 0, 10, b"?")])
    lake.ingest(tmp_path)
    before = commits(lake, "message_counts")
    lake.process.submit(_run_beside, "bronze").result()
    assert commits(lake, "message_counts") == before
    check_summaries(lake)


def _run_beside(name):
    from dbt.cli.main import dbtRunner

    with hold(name, ""):
        assert dbtRunner().invoke(["--quiet", *RUN]).success


def test_erased_messages(lake):
    code, _, error = lake.command("erase", "crm.customers", "--key", "id=3")
    assert code == 0, error
    check_summaries(lake)
    lake.dbt(*RUN)
    assert all(check_summaries(lake))


def test_expired_messages(lake):
    code, _, error = lake.command("expire", "--older-than", "0 hours")
    assert code == 0, error
    check_summaries(lake)
    received = "select sum(messages) as n from silver.message_accounting"
    counts = lake.query(received)
    lake.dbt(*RUN)
    check_summaries(lake)
    assert lake.query(received) == counts
    lake.dbt("test", "-s", "test_type:singular")
