"""Data tests look at what came since they last passed, and find what is wrong with it."""

import json

import pytest
from laboratory import change, thing
from shop import write_messages

from cdc_lakehouse.engine.passed_tests import FILE, Passed, read_passed, text_of

pytestmark = pytest.mark.full

TOPIC = "lab.things"
NAMES = (
    "accounting_adds_up",
    "every_message_has_one_result",
    "identities_have_one_content",
    "sequences_have_one_content",
)
RUN = ("run", "-s", "events")
TEST = ("test", "-s", *NAMES)
CONSERVATION, CONTENT, PLACES = NAMES[1:]


class Deliveries:
    """A lakehouse of one topic, in which messages are delivered, processed and tested."""

    def __init__(self, lakehouse, landing):
        self.lakehouse, self.landing, self.files = lakehouse, landing, 0

    def deliver(self, *messages, partition=0):
        """Land messages (offset, place in the source, name) of one thing."""
        rows = [
            (
                TOPIC,
                partition,
                offset,
                json.dumps(change("INSERT", place, thing(place, name))).encode(),
            )
            for offset, place, name in messages
        ]
        self.files += 1
        write_messages(self.landing / f"{self.files}.parquet", rows)
        self.lakehouse.ingest(self.landing)

    def run(self):
        self.lakehouse.dbt(*RUN)

    def failing(self, *arguments):
        """Run the tests; return those that failed or warned."""
        said = self.lakehouse.process.submit(_test, (*TEST, *arguments)).result()
        assert set(said) == set(NAMES)
        return sorted(name for name, status in said.items() if status != "pass")

    def passed(self):
        """What is noted of the tests, by their short names."""
        path = self.lakehouse.home / "warehouse" / "silver.db" / "events" / FILE
        return {name.split(".")[-1]: each for name, each in read_passed(path.read_text()).items()}

    def mark(self):
        return max(each.messages for each in self.passed().values())


def _test(arguments):
    from dbt.cli.main import dbtRunner

    results = dbtRunner().invoke(["--quiet", *arguments]).result.results
    return {r.node.name: str(r.status) for r in results if r.node.resource_type == "test"}


def _skip_messages():
    """Let silver say that it has read what it has not."""
    from cdc_lakehouse.delta.commit import set_for_one_statement, settings_of_commit
    from cdc_lakehouse.delta.log import latest_version, transaction_version
    from cdc_lakehouse.runtime.paths import warehouse_path
    from dbt.adapters.lakehouse.connections import root_session

    spark = root_session({}).newSession()
    last = latest_version(spark, warehouse_path("bronze", "messages"))
    mark = transaction_version(spark, warehouse_path("silver", "events"), "bronze.messages")
    with set_for_one_statement(spark, settings_of_commit("bronze.messages", last, mark)):
        spark.sql("update silver.events set topic = topic where false")


@pytest.fixture(scope="module")
def tested(open_lakehouse, tmp_path_factory):
    def write_project(project):
        topics = project / "seeds" / "topics.csv"
        topics.write_text(f"{topics.read_text()}{TOPIC},dts_canal,,,,\n")

    lakehouse = open_lakehouse("tested", change=write_project)
    tested = Deliveries(lakehouse, tmp_path_factory.mktemp("landing"))
    tested.deliver(*((n, 10 * n, "first") for n in range(1, 6)))
    lakehouse.dbt("seed")
    lakehouse.dbt("run", "-s", "path:models/silver")
    assert tested.failing() == []
    return tested


def test_what_is_noted_is_read_again():
    passed = {"test.a": Passed("x", 3, 2), "test.b": Passed("y", 4, -1)}
    assert read_passed(text_of(passed)) == passed


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"test.a": {"definition": "x"}}'])
def test_what_cannot_be_read_is_nothing(text):
    assert read_passed(text) == {}


def test_only_what_is_new_is_looked_at(tested):
    before = tested.mark()
    tested.deliver((6, 60, "second"), (7, 70, "second"))
    tested.run()
    assert tested.failing() == []
    assert tested.mark() > before
    compiled = tested.lakehouse.home / "target" / "compiled"
    for name in NAMES:
        (sql,) = compiled.rglob(f"{name}.sql")
        looked_at = "sequence between" if name == PLACES else f"bronze_version > {before}"
        assert looked_at in sql.read_text()


@pytest.mark.long
def test_what_was_delivered_before_has_its_result(tested):
    tested.deliver((2, 20, "first"), (6, 60, "second"), (8, 80, "third"))
    tested.run()
    assert tested.failing() == []


@pytest.mark.long
def test_a_result_too_many_is_found_until_it_is_gone(tested):
    tested.deliver((9, 90, "fourth"))
    tested.run()
    row = "silver.events where topic = 'lab.things' and offset = 9"
    tested.lakehouse.query(f"insert into silver.events select * from {row}")
    assert tested.failing() == tested.failing() == [CONSERVATION]
    tested.lakehouse.query(f"delete from {row}")
    # All is looked at, since rows are gone: now one is missing.
    assert tested.failing() == [NAMES[0], CONSERVATION]
    history = tested.lakehouse.query("describe history silver.events")
    version = max(commit["version"] for commit in history) - 2  # before the two statements
    tested.lakehouse.query(
        f"insert into silver.events select * from silver.events version as of {version} "
        "where topic = 'lab.things' and offset = 9"
    )
    assert tested.failing() == []


@pytest.mark.long
def test_only_everything_shows_what_was_added_to_what_has_passed(tested):
    row = "silver.events where topic = 'lab.things' and offset = 9"
    tested.lakehouse.query(f"insert into silver.events select * from {row}")
    everything = ("--vars", "check: everything")
    assert (tested.failing(), tested.failing(*everything)) == ([], [CONSERVATION])
    tested.lakehouse.dbt(*RUN, "--full-refresh")
    assert tested.failing() == []


@pytest.mark.long
def test_messages_that_silver_has_passed_over(tested):
    tested.deliver((10, 100, "fifth"))
    tested.lakehouse.process.submit(_skip_messages).result()
    assert tested.failing() == tested.failing() == [CONSERVATION]
    assert tested.failing("--vars", "check: everything") == [NAMES[0], CONSERVATION]
    tested.lakehouse.dbt(*RUN, "--full-refresh")
    assert tested.failing() == []


@pytest.mark.long
def test_a_place_of_an_earlier_change_with_other_content(tested):
    tested.deliver((11, 30, "another third"))
    tested.run()
    assert tested.failing() == tested.failing() == [PLACES]


@pytest.mark.long
def test_an_identity_with_other_bytes(tested):
    tested.deliver((4, 40, "other bytes"))
    tested.run()
    tested.deliver((12, 120, "sixth"))
    tested.run()
    assert tested.failing() == tested.failing() == [CONTENT, PLACES]


def test_a_part_of_the_sources_proves_nothing(tested):
    before = tested.passed()
    tested.deliver((13, 130, "seventh"))
    tested.run()
    tested.lakehouse.dbt("build", "--empty", "-s", *NAMES)
    assert tested.passed() == before
