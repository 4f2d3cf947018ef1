"""Which options of a gold model are refused: ours, misspelt or misplaced, and none of dbt's."""

import dataclasses

import pytest
from dbt.adapters.spark.impl import SparkConfig

from cdc_lakehouse.engine.gold_options import refused_option
from dbt.adapters.lakehouse.config import LakehouseConfig
from dbt.adapters.lakehouse.gold import Gold

BOTH = ["on_truncate", "on_drop", "cluster_by", "plain_table", "change_feed"]
CURRENT_STATE = [*BOTH, "on_delete", "tombstone_retention"]
HISTORY = [*BOTH, "track_columns"]
OWN = {*CURRENT_STATE, *HISTORY}


def refused(name, options=CURRENT_STATE, project=None):
    return refused_option([name], options, OWN, project or {})


@pytest.mark.parametrize("options", [CURRENT_STATE, HISTORY])
@pytest.mark.parametrize(
    "name",
    [
        # What dbt documents for all models.
        *["materialized", "enabled", "tags", "meta", "docs", "group", "access", "contract"],
        *["persist_docs", "on_schema_change", "grants", "unique_key", "incremental_strategy"],
        *["database", "schema", "alias", "quoting", "full_refresh", "packages", "event_time"],
        *["pre-hook", "pre_hook", "post-hook", "post_hook", "on_configuration_change", "begin"],
        *["batch_size", "lookback", "concurrent_batches", "column_types", "freshness"],
        # What macros read without a field of their own, and options of other adapters.
        *["sql_header", "incremental_predicates", "merge_exclude_columns", "tblproperties"],
        *["file_format", "location_root", "partition_by", "clustered_by", "buckets", "options"],
        *["liquid_clustered_by", "auto_liquid_cluster", "databricks_tags", "on_table_exists"],
        *["transient", "query_tag", "copy_grants", "labels", "hours_to_expiration", "indexes"],
        *["dist", "sort", "order_by", "engine", "snowflake_warehouse", "owner", "elementary"],
    ],
)
def test_options_of_dbt_and_of_other_adapters_are_taken(name, options):
    assert refused(name, options) is None


@pytest.mark.parametrize("options", [CURRENT_STATE, HISTORY])
@pytest.mark.parametrize(
    "name, meant",
    [
        ("on_truncat", "on_truncate"),
        ("on_truncates", "on_truncate"),
        ("onTruncate", "on_truncate"),
        ("on_drops", "on_drop"),
        ("on-delete", "on_delete"),
        ("on_delet", "on_delete"),
        ("on_deleted", "on_delete"),
        ("tombstone_retension", "tombstone_retention"),
        ("tombstones_retention", "tombstone_retention"),
        ("track_column", "track_columns"),
        ("tracked_columns", "track_columns"),
        ("clusterby", "cluster_by"),
        ("plaintable", "plain_table"),
        ("plain_tables", "plain_table"),
        ("changefeed", "change_feed"),
        ("change_feeds", "change_feed"),
        ("cluster", "cluster_by"),
    ],
)
def test_a_typo_is_refused_with_what_is_meant(name, meant, options):
    assert refused(name, options) == (name, meant)


def test_an_option_of_the_other_materialization_is_refused():
    assert refused("track_columns") == ("track_columns", None)
    assert refused("on_delete", HISTORY) == ("on_delete", None)


def test_what_a_project_sets_for_all_models_need_not_fit_each_of_them():
    project = {"cdc_lakehouse": {"gold": {"+on_delete": "flag", "shop": {"+schema": "gold"}}}}
    assert refused("on_delete", HISTORY, project) is None
    assert refused("track_columns", project=project) == ("track_columns", None)
    assert refused("on_delet", HISTORY, {"+on_delet": "flag"}) == ("on_delet", "on_delete")


def test_the_adapter_declares_the_same_options():
    spark = {field.name for field in dataclasses.fields(SparkConfig)}
    own = {field.name for field in dataclasses.fields(LakehouseConfig)} - spark
    assert own == Gold.OPTIONS
