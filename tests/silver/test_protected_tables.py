"""No file of silver and gold has the clear value of a protected column, and none has the key."""

import hmac
import json
from hashlib import sha256

import pyarrow.parquet as pq
import pytest
from conftest import LANDING
from laboratory import Laboratory, change, shareplex

from cdc_lakehouse.protection import KEY

pytestmark = pytest.mark.full

SECRET = "Qk9-the-key-of-the-hash-in-this-test-7f3a"
SEED = "database,schema,table,column,method,layer\n"
LINES = (
    "crm,,customers,EMAIL,hash,silver\n"
    "crm,,customers,birth_*,mask,silver\n"
    "crm,,customers,name,drop,silver\n"
    "lab,,things,id,hash,silver\n"
    "lab,,things,name,hash,gold\n"
)
THING, NAME, OTHER = "subject-7f3a", "Quillfeather", "neighbour-anna"
# Of the samples; what the messages of lab.things have is above.
CLEAR_IN_SILVER = ("ada.moreau@example.com", "Moreau", "1985-03-14", THING, OTHER)
CLEAR_IN_GOLD = (*CLEAR_IN_SILVER, NAME)


def pseudonym(text):
    return hmac.new(SECRET.encode(), text.encode(), sha256).hexdigest()


def write_lines(project, lines):
    (project / "seeds" / "protected_columns.csv").write_text(SEED + lines)


def thing(key, name, price="1.00"):
    return {"id": key, "name": name, "price": price}


def message(kind, position, *rows, old=None):
    """A Canal message of things whose keys are texts."""
    return change(kind, position, *rows, old=old) | {"mysqlType": {"id": "varchar(20)"}}


@pytest.fixture(scope="module")
def lab(open_lakehouse, tmp_path_factory):
    """A lakehouse with protected columns in three formats; the key is in its environment alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY, SECRET)
        lakehouse = open_lakehouse(
            "protected", lambda project: write_lines(project, LINES), own=True
        )
        # Java is started now, with the environment that it gives to Python.
        landing = tmp_path_factory.mktemp("landing")
        lab = TextKeys(lakehouse, landing)
        lakehouse.ingest(LANDING / "crm.customers")
        cut = json.dumps(message("INSERT", 3, thing(THING, NAME)))[:60].encode()
        lab.deliver(
            message("INSERT", 1, thing(THING, NAME), thing(OTHER, "Anna")),
            message("UPDATE", 2, thing(THING, NAME, "2.00"), old=[{"price": "1.00"}]),
            cut,
            models=["things", "customers"],
        )
        yield lab


class TextKeys(Laboratory):
    """A laboratory whose things have texts for keys."""

    def __init__(self, lakehouse, landing):
        super().__init__(lakehouse, landing)
        folder = lakehouse.project / "models" / "gold" / "lab"
        for name, old, new in (
            ("things.sql", "try_cast(image['id'] as bigint)", "image['id']"),
            ("_lab.yml", "data_type: bigint", "data_type: string"),
        ):
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new))

    def images(self, table):
        """Return the images of silver.events of a table, without nulls."""
        rows = self.lakehouse.query(
            "select before, after, column_types from silver.events "
            f"where kind = 'row_change' and table_name = '{table}'"
        )
        return [each for row in rows for each in (row["before"], row["after"]) if each is not None]


def holding(folder, text):
    """Return the files below a folder that hold a text: as bytes, or in the rows of Parquet."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and holds(path, text)]


def holds(path, text):
    if text.encode() in path.read_bytes():
        return True
    return path.suffix == ".parquet" and text in str(pq.read_table(path).to_pylist())


def test_silver_has_pseudonyms_masks_and_no_dropped_columns(lab):
    customers = lab.images("customers")
    assert customers
    assert not any("name" in image for image in customers)
    assert pseudonym("ada.moreau@example.com") in [image["email"] for image in customers]
    assert "****14" in {image.get("birth_date") for image in customers}
    assert {image["id"] for image in lab.images("things")} == {pseudonym(THING), pseudonym(OTHER)}
    # A line of gold leaves silver as it is.
    assert NAME in {image["name"] for image in lab.images("things")}
    (rejected,) = lab.lakehouse.query(
        "select reject_reason, reject_detail from silver.events where kind = 'rejected'"
        " and topic = 'lab.things'"
    )
    assert rejected["reject_reason"] == "not_json"
    assert THING not in rejected["reject_detail"]


def test_gold_merges_by_pseudonyms(lab):
    assert sorted(lab.rows()) == sorted(
        [(pseudonym(THING), pseudonym(NAME), "2.00"), (pseudonym(OTHER), pseudonym("Anna"), "1.00")]
    )
    emails = lab.lakehouse.query("select email, name from gold.customers where id = 1")
    assert emails == [{"email": pseudonym("ada.moreau@example.com"), "name": None}]
    (found,) = lab.lakehouse.query(
        "select count(*) as n from gold.things where name = pseudonym('Quillfeather')"
    )
    assert found["n"] == 1


def test_no_file_outside_bronze_has_a_clear_value_and_none_has_the_key(lab):
    home, warehouse = lab.lakehouse.home, lab.lakehouse.home / "warehouse"
    assert holding(warehouse / "bronze.db", THING), "bronze is what is told of in the docs"
    for text in CLEAR_IN_SILVER:
        assert holding(warehouse / "silver.db", text) == []
    for text in CLEAR_IN_GOLD:
        assert holding(warehouse / "gold_storage.db", text) == []
        assert holding(home / "target", text) == []
        assert holding(home / "metastore_db", text) == []
    assert holding(home, SECRET) == []


def test_another_format_has_the_same_pseudonym(lab):
    lab.deliver(
        shareplex("ins", 9, {"id": "plexed", "name": NAME, "price": "3"}), topic="plex.things"
    )
    assert (pseudonym("plexed"), pseudonym(NAME), "3.00") in lab.rows()


def test_messages_that_are_processed_again_get_the_same_pseudonyms(lab):
    before = lab.rows()
    code, _, said = lab.lakehouse.command("replay", "--processed", "--topic", "lab.things")
    assert code == 0, said
    lab.lakehouse.dbt("run", "-s", "events", "row_images", "things")
    assert lab.rows() == before


def test_a_new_line_is_applied_to_all_rows(lab):
    write_lines(lab.lakehouse.project, LINES + "crm,,customers,phone,hash,silver\n")
    lab.lakehouse.dbt("run", "-s", "events", "row_images", "customers", "things")
    log = lab.log_of_run()
    assert "silver.events is rebuilt: other columns are protected than before" in log
    phones = lab.lakehouse.query("select phone from gold.customers where id = 4")
    assert phones == [{"phone": pseudonym("+49 221 5550100")}]
    assert "gold_storage.things is rebuilt" not in log


def test_a_changed_line_of_gold_is_refused_until_its_view_is_made(lab):
    more = "crm,,customers,phone,hash,silver\ncrm,,customers,loyalty_number,mask,gold\n"
    write_lines(lab.lakehouse.project, LINES + more)
    (said,) = lab.lakehouse.dbt("run", "-s", "customers", fails=True)
    assert "dbt run -s row_images" in said
    lab.lakehouse.dbt("run", "-s", "row_images", "customers")
    problems = lab.lakehouse.query(
        "select explode(_problems) as p from gold.customers where id = 1"
    )
    assert "****0001" in {row["p"]["text"] for row in problems}


def test_a_new_line_is_applied_in_place_where_bronze_lacks_messages(lab):
    code, said, error = lab.lakehouse.command("expire", "--older-than", "0 hours")
    assert code == 0, (said, error)
    old = LINES + "crm,,customers,phone,hash,silver\ncrm,,customers,loyalty_number,mask,gold\n"
    write_lines(lab.lakehouse.project, old + "crm,,customers,created_at,drop,silver\n")
    before = lab.images("customers")
    lab.lakehouse.dbt("run", "-s", "events", "row_images", "customers")
    after = lab.images("customers")
    assert len(after) == len(before)
    assert "created_at" in before[0]
    assert not any("created_at" in image for image in after)
    # What was hashed is not hashed again.
    assert {image["email"] for image in after} == {image["email"] for image in before}
    write_lines(lab.lakehouse.project, old)
    (said,) = lab.lakehouse.dbt("run", "-s", "events", fails=True)
    assert "Put the lines and the key back as they were" in said
    write_lines(lab.lakehouse.project, old + "crm,,customers,created_at,drop,silver\n")


@pytest.mark.long
def test_a_subject_is_erased_by_the_clear_value_of_a_hashed_key(lab):
    code, said, error = lab.lakehouse.command("erase", "lab.things", "--key", f"id={THING}")
    assert code == 0, (said, error)
    assert pseudonym(THING) not in {row[0] for row in lab.rows()}
    warehouse = lab.lakehouse.home / "warehouse"
    assert holding(warehouse, THING) == []
    assert holding(warehouse, pseudonym(THING)) == []
