"""Settings on which the meaning of values depends cannot be changed."""

import pytest
from dbt_common.exceptions import DbtRuntimeError

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.meaning import PINNED, refuse_other_meanings
from cdc_lakehouse.runtime.settings import settings
from dbt.adapters.lakehouse import LakehouseCredentials

pytestmark = pytest.mark.full

OTHERS = {
    "spark.sql.session.timeZone": "Asia/Shanghai",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": True,
    "spark.sql.ansi.enabled": "false",
    "SPARK.SQL.SESSION.TIMEZONE": "+08:00",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_profile_cannot_change_what_a_value_means(name):
    with pytest.raises(DbtRuntimeError, match=r"profiles\.yml sets spark.*[Tt]ake the setting out"):
        LakehouseCredentials(server_side_parameters={name: OTHERS[name]})


def test_a_profile_may_say_what_holds_anyway_and_set_anything_else():
    harmless = {"spark.sql.shuffle.partitions": "7", "spark.sql.ansi.enabled": True}
    credentials = LakehouseCredentials(server_side_parameters=harmless)
    found = credentials.server_side_parameters
    assert found["spark.sql.shuffle.partitions"] == "7"
    assert {name: found[name] for name in PINNED} == PINNED


def test_every_session_begins_with_what_is_pinned(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    for metastore in (True, False):
        assert settings(metastore).items() >= PINNED.items()


def test_the_error_names_the_setting_what_was_found_and_what_to_do():
    with pytest.raises(LakehouseError) as error:
        refuse_other_meanings({"spark.sql.session.timezone": "Asia/Tokyo"}, "profiles.yml")
    assert str(error.value) == (
        "profiles.yml sets spark.sql.session.timeZone to Asia/Tokyo. It decides what a value means,"
        " so that tables would hold values of two kinds: it has to be UTC. Take the setting out,"
        " and convert values in a model or a query instead."
    )
