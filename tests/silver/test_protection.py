"""seeds/protected_columns.csv: which line counts, and what is said about a wrong one."""

import hmac
import json
from dataclasses import replace
from hashlib import sha256

import pytest

from cdc_lakehouse.engine.columns import Column
from cdc_lakehouse.engine.former_names import columns_of_images
from cdc_lakehouse.engine.gold_model import GoldModel
from cdc_lakehouse.engine.gold_options import GoldOptions
from cdc_lakehouse.engine.loss import LostRows
from cdc_lakehouse.engine.protected_models import tables_named, with_protection
from cdc_lakehouse.engine.window import Build, decide_build
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.protection import key_number, lines_done, read_protection
from udfs import protected_images as images

HEADER = "database,schema,table,column,method,layer\n"
SECRET = "a key of the hash for tests, 32 and more"
NAMES = ["crm", None, "customers"]


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.setenv(images.KEY, SECRET)
    (tmp_path / "seeds").mkdir()

    def read_it(text, environment=None):
        (tmp_path / "seeds" / "protected_columns.csv").write_text(text)
        return read_protection(tmp_path, environment or {images.KEY: SECRET})

    return read_it


def test_a_project_without_the_file_protects_nothing(tmp_path):
    assert read_protection(tmp_path, {}).lines == ()
    assert read_protection(tmp_path, {}).text() == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("database,column\n", "line 1: the header is database,column"),
        (HEADER + "crm,,customers,email,hash\n", "line 2: 5 fields where the header has 6"),
        (HEADER + "crm,,customers,,hash,silver\n", "line 2: the column is empty"),
        (HEADER + "crm,,customers,email,blur,silver\n", "line 2: unknown method 'blur'"),
        (HEADER + "crm,,customers,email,hash,bronze\n", "line 2: unknown layer 'bronze'"),
        (HEADER + "crm,,c,e,hash,gold\n" * 2, "line 3: the same columns are in line 2"),
    ],
)
def test_a_wrong_line_is_named(read, text, said):
    with pytest.raises(LakehouseError, match=r"protected_columns\.csv, ") as error:
        read(text)
    assert said in str(error.value)


def test_all_wrong_lines_are_named_at_once(read):
    with pytest.raises(LakehouseError) as error:
        read(HEADER + "crm,,customers,,blur,silver\ncrm,,c\n , ,t, c ,mask,gold\n")
    found = [text.split("protected_columns.csv, ")[1] for text in str(error.value).splitlines()]
    assert [text.split(".")[0] for text in found] == [
        "line 2: the column is empty",
        "line 2: unknown method 'blur'",
        "line 3: 3 fields where the header has 6",
        "line 4: the database is empty",
    ]


@pytest.mark.parametrize(("key", "said"), [("", "is not set"), ("short", "has 5 characters")])
def test_a_key_that_is_missing_or_short_is_refused_and_not_shown(read, key, said):
    with pytest.raises(LakehouseError, match=said) as error:
        read(HEADER + "crm,,customers,email,hash,silver\n", {images.KEY: key, "HOME": "/"})
    assert "short" not in str(error.value)


def test_the_first_line_that_covers_a_column_counts(read):
    protection = read(
        HEADER
        + "CRM,,Customers,email,mask,gold\n"
        + "crm,,*,e*,hash,silver\n"
        + "crm,public,customers,phone,drop,silver\n"
    )
    found = {
        (column, schema, layer): images.method_of(
            protection.rules(), layer, "crm", schema, "customers", column
        )
        for column in ("email", "EXTRA", "phone", "name")
        for schema in (None, "public")
        for layer in ("silver", "gold")
    }
    assert {place: method for place, method in found.items() if method} == {
        ("email", None, "gold"): "mask",
        ("email", "public", "gold"): "mask",
        ("EXTRA", None, "silver"): "hash",
        ("EXTRA", "public", "silver"): "hash",
        ("phone", "public", "silver"): "drop",
    }


def test_images_are_protected_and_keys_are_hashed_whatever_their_line_says(read):
    protection = read(
        HEADER
        + "crm,,customers,email,hash,silver\n"
        + "crm,,customers,phone,mask,silver\n"
        + "crm,,customers,passport,drop,silver\n"
        + "crm,,customers,id,drop,silver\n"
    )
    before = [("id", "5"), ("email", "a@b.c"), ("phone", None), ("note", "")]
    after = [("id", "5"), ("email", None), ("phone", "+49 221 5550100"), ("passport", "P1")]
    types = [("id", "int"), ("note", "text")]
    row = (NAMES, ["id"], before, after, types)
    protected = images.protect(protection.rules(), "silver", key_number(SECRET), *row)

    def pseudonym(text):
        return hmac.new(SECRET.encode(), text.encode(), sha256).hexdigest()

    before = dict(before) | {"id": pseudonym("5"), "email": pseudonym("a@b.c")}
    assert protected == {
        "before": list(before.items()),
        "after": [("id", pseudonym("5")), ("email", None), ("phone", "****100")],
        "column_types": [("note", "text")],
    }
    # Lines that are done are not applied again, nor those below them that name the same column.
    again = images.protect(protection.rules(done=2), "silver", key_number(SECRET), *row)
    assert dict(again["after"])["phone"] == "+49 221 5550100"
    assert "passport" not in dict(again["after"])
    assert images.to_arrow([protected, None]).to_pylist() == [protected, None]


@pytest.mark.parametrize(
    ("text", "kept"),
    [("", ""), ("123", ""), ("1234", "4"), ("0" * 7 + "1", "01"), ("9" * 40, "9999")],
)
def test_a_mask_keeps_a_quarter_and_four_characters_at_most(text, kept):
    assert images.masked(text) == f"****{kept}"


def test_another_key_or_none_is_refused_where_values_are_hashed(read, monkeypatch):
    rules = read(HEADER + "crm,,customers,email,hash,silver\n").rules()
    row = (NAMES, [], [("email", "a@b.c")], None, None)
    for value, said in ((SECRET + "!", "is another one"), ("", "is not set")):
        monkeypatch.setenv(images.KEY, value)
        with pytest.raises(ValueError, match=said) as error:
            images.protect(rules, "silver", key_number(SECRET), *row)
        assert SECRET not in str(error.value)


def test_only_lines_below_those_that_count_can_be_applied_to_stored_rows(read):
    first = HEADER + "crm,,customers,email,hash,silver\n"
    old = read(first).text(("silver",))
    more = read(first + "x,,x,x,hash,gold\ncrm,,customers,phone,mask,silver\n").text(("silver",))
    # A line of gold below changes nothing in silver.
    assert read(first + "x,,x,x,hash,gold\n").text(("silver",)) == old
    changed = read(first.replace("hash", "mask")).text(("silver",))
    assert SECRET not in more and json.loads(more)[0] == key_number(SECRET)
    assert lines_done("", more) == 0
    assert lines_done(old, more) == 1
    assert lines_done(old, changed) is None
    assert lines_done(old, "") is None


def test_a_table_is_rebuilt_or_gets_new_lines_where_that_would_lose_rows(read):
    first = read(HEADER + "crm,,customers,email,hash,silver\n").text()

    def decide(stored, wanted, lost):
        return decide_build("events", False, {}, {}, [], LostRows(lost), (stored, wanted))

    assert decide(first, first, 0) == Build(exists=True)
    assert decide("", first, 0).rebuild and "rebuilt" in decide("", first, 0).said
    assert decide("", first, 7).done == 0 and not decide("", first, 7).rebuild
    with pytest.raises(LakehouseError, match="7 of them"):
        decide(first, "", 7)


def model(where, key="id"):
    sql = (
        f"select image['{key}'] as {key}, image['email'] as email from silver.row_images "
        f"where {where}"
    )
    columns = tuple(Column(name, "string", name) for name in (key, "email"))
    options = GoldOptions({"on_truncate": "apply"})
    return GoldModel("customers", "current_state", sql, (key,), options, columns, columns)


CRM = "database_name = 'crm' and table_name = 'customers'"


@pytest.mark.parametrize(
    ("where", "tables"),
    [
        (CRM, {("crm", "customers")}),
        ("database_name = 'crm' and table_name in ('a', 'b')", {("crm", "a"), ("crm", "b")}),
        ("source_table = 'crm.customers'", {("crm", "customers")}),
        ("database_name = 'crm'", None),
        ("table_name like 'cust%' and database_name = 'crm'", None),
        ("database_name = 'crm' and table_name <> 'orders'", None),
    ],
)
def test_the_tables_that_a_model_names(where, tables):
    found = tables_named(model(where).sql, model(where).reads_table)
    assert found is None if tables is None else {(d, t) for d, _, t in found} == tables


def test_a_line_of_its_tables_changes_what_a_model_is(read):
    mine = read(HEADER + "CRM,,customers,email,hash,gold\n")
    other = read(HEADER + "hr,,people,email,hash,gold\n")
    assert with_protection(model(CRM), other) == ()
    assert with_protection(model(CRM), mine) != ()
    # What a model reads is not known: every line may be of its tables.
    assert with_protection(model("table_name like 'c%'"), other) != ()


def test_a_key_is_only_hashed(read):
    lines = "crm,,customers,id,hash,gold\ncrm,,customers,*,mask,silver\n"
    assert with_protection(model(CRM), read(HEADER + lines))
    with pytest.raises(LakehouseError, match=r"line 2: mask crm\.customers\.\*, but id is a"):
        with_protection(model(CRM), read(HEADER + lines.partition("\n")[2]))


def test_all_names_of_a_column_are_protected_alike(read):
    columns = (Column("id", "string", "id"), Column("mail", "string", "mail", False, ("email",)))
    images = f"select {columns_of_images(columns)} from silver.row_images where {CRM}"
    sql = f"select image['id'] as id, image['mail'] as mail from ({images}) as row_images"
    renamed = replace(model(CRM), sql=sql, columns=columns)
    assert with_protection(renamed, read(HEADER + "hr,,people,email,hash,gold\n")) == ()
    line = "crm,,customers,email,hash,gold\n"
    with pytest.raises(LakehouseError, match=r"line 2: hash crm.customers.email, .* mail, email"):
        with_protection(renamed, read(HEADER + line))
    for other in ("crm,,customers,mail,mask,gold\n", "crm,,customers,mail,hash,silver\n"):
        with pytest.raises(LakehouseError, match="other lines or none protect these"):
            with_protection(renamed, read(HEADER + line + other))
    assert with_protection(renamed, read(HEADER + line + "crm,,customers,mail,hash,gold\n"))
    assert with_protection(renamed, read(HEADER + "hr,,people,email,hash,gold\n")) == ()
