"""What differs here from what dbt's suite expects of PostgreSQL, and what does not apply."""

import pytest
from dbt.tests.adapter.basic.expected_catalog import (
    base_expected_catalog,
    expected_references_catalog,
    no_stats,
)
from dbt.tests.util import AnyInteger

# Why tests do not apply, by the first words of MODULE.CLASS.TEST.
NOT_OF_HERE = {
    "basic.test_incremental.BaseIncrementalBadStrategy": "dbt-spark refuses it in words of its own",
    "basic.test_get_catalog_for_single_relation": "dbt-spark has no such method",
    "catalog_integrations.": "holds no tests",
    "caching.": "asks for the database of a table, of which Spark has none",
    "constraints.test_constraints.TestConstraintQuotedColumn": "quotes names as PostgreSQL does",
    "constraints.test_constraints.TestTableContractSqlHeader": "sets a time zone in PostgreSQL's "
    "words, and no model may change it here",
    "constraints.test_constraints.TestIncrementalContractSqlHeader": "sets one too",
    "dbt_clone.test_dbt_clone.BaseCloneSameSourceAndTarget": "names its models by no fixture",
    "dbt_clone.test_dbt_clone.TestPostgresCloneNotPossible": "is of databases that cannot clone",
    "dbt_show.test_dbt_show.TestShowDoesNotHandleDoubleLimit": "wants PostgreSQL's words",
    "empty.test_empty.TestEmpty": "a view that is there stays with --empty: one without rows would "
    "be what others read",
    "empty.test_empty.BaseTestEmptySeedFlag": "is of dbt 1.12",
    "ephemeral.test_ephemeral.TestEphemeralMulti": "compares the text of a view of PostgreSQL",
    "ephemeral.test_ephemeral.TestEphemeralNested": "compares the text of a view of PostgreSQL",
    "functions.": "dbt-spark makes no functions; udfs/ has those of a project",
    "grants.": "Spark has no GRANT; a warning says so",
    "incremental.test_incremental_predicates": "delete+insert is no strategy of dbt-spark",
    "persist_docs.test_persist_docs.TestPersistDocs.": "reads comments in the catalog of dbt",
    "persist_docs.test_persist_docs.TestPersistDocsColumnMissing": "reads comments there too",
    "persist_docs.test_persist_docs.TestPersistDocsCommentOnQuotedColumn": "reads them there too",
    "python_model.": "Python models are refused by name",
    "simple_copy.test_copy_uppercase": "is of a database whose names have a case",
    "simple_copy.test_simple_copy": "reads information_schema, which Spark has not",
    "simple_seed.test_seed.TestBasicSeedTests.test_simple_seed_full_refresh_flag": "wants a view "
    "to go with the table below it, as PostgreSQL's CASCADE does",
    "simple_seed.test_seed.TestSeedConfigFullRefreshOn": "wants the same",
    "simple_seed.test_seed.TestSeedWithWrongDelimiter": "wants an error for a column `a;b`, which "
    "Delta can have",
    "simple_snapshot.test_various_configs.BaseSnapshotDbtValidToCurrent": "reads rows without an "
    "order, and counts on PostgreSQL's",
    "simple_snapshot.test_various_configs.BaseSnapshotInvalidColumnNames": "dbt-spark names the "
    "missing columns in words of its own",
    "unit_testing.test_quoted_reserved_word": "quotes names as PostgreSQL does",
    "utils.test_current_timestamp.TestCurrentTimestamp": "Spark gives times without a zone",
    "utils.test_get_intervals_between": "writes days as 09/12/2023, no date of Spark's",
    "utils.test_listagg": "Spark's array_agg has no order",
}

# Why tests fail, by the first words of MODULE.CLASS.TEST.
FAILS = {
    "column_types.": "dbt-spark does not know the type `int` for a number",
    "dbt_clone.test_dbt_clone.BaseClonePossible.test_can_clone_true": "Delta puts no clone in the "
    "place of a table that has rows, as clone --full-refresh wants",
    "hooks.test_run_hooks.TestAfterRunHooks": "dbt-spark raises a DbtRuntimeError where the suite "
    "wants a DbtDatabaseError",
    "incremental.test_incremental_on_schema_change.TestIncrementalOnSchemaChange."
    "test_run_incremental_append_new_columns": "dbt-spark's MERGE names columns that the model no "
    "longer has",
    "incremental.test_incremental_unique_id.TestIncrementalUniqueKey.test__bad_unique_key": "Spark "
    "does not know the name of Delta's error, so that its text is lost",
    "simple_seed.test_seed.TestSeedSpecificFormats": "dbt-spark quotes no names, so that a seed's "
    "has no dot",
    "simple_snapshot.test_various_configs.BaseSnapshotMultiUniqueKey": "dbt-spark's snapshot takes "
    "one column as the key",
}


def given(value):
    """Return a fixture of a class that gives a value."""

    @pytest.fixture(scope="class")
    def fixture(self):
        return value

    return fixture


class Number(str):
    """A type that dbt-spark calls `bigint` in tables, and `long` in views."""

    def __eq__(self, other):
        return other in ("bigint", "long")

    __hash__ = str.__hash__


KINDS = {
    **{"id_type": Number(), "text_type": "string", "time_type": "timestamp"},
    **{"view_type": "view", "table_type": "table", "model_stats": no_stats()},
}


@pytest.fixture(scope="class")
def catalog(self, project, profile_user):
    return base_expected_catalog(project, role=profile_user, **KINDS)


@pytest.fixture(scope="class")
def catalog_of_references(self, project, profile_user):
    found = expected_references_catalog(project, role=profile_user, bigint_type=Number(), **KINDS)
    for table in (*found["nodes"].values(), *found["sources"].values()):
        for column in table["columns"].values():
            column["index"] = AnyInteger()  # dbt-spark counts from 0
    return found


def check_model_hooks(self, state, project, host, count=1):
    """Look at what a hook has noted of this target."""
    contexts = self.get_ctx_vars(state, count, project)
    for context in contexts:
        _check_hook(context, state, project)


def check_run_hooks(self, state, project, host):
    """Look at what a hook has noted of this target."""
    _check_hook(self.get_ctx_vars(state, project), state, project)


def check_schemas(self, project):
    """Look at what the end of a run has noted of the schemas it wrote to."""
    assert project.run_sql(f"select * from {project.test_schema}.schemas", "all") == [
        (project.test_schema,)
    ]


def _check_hook(context, state, project):
    assert context["test_state"] == state
    assert (context["target_name"], context["target_type"]) == ("default", "lakehouse")
    assert (context["target_schema"], context["target_threads"]) == (project.test_schema, 2)
    assert context["run_started_at"] and context["invocation_id"] and context["thread_id"]


TYPES = {
    "string_type": given("string"),
    "int_type": given("int"),
    # A value in SQL, its type, and how an error names it.
    "data_types": given(
        [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["date '2019-01-01'", "date", "date"],
            ["timestamp '2019-01-01 00:00:00'", "timestamp", "timestamp"],
            ["array('a', 'b')", "array<string>", "array"],
            ["cast(1 as decimal(3, 1))", "decimal(3,1)", "decimal"],
        ]
    ),
}


def typed_seed(column, data_type):
    """Return what gives the column of a seed a type."""
    types = {"+column_types": {column: data_type}}
    return {"project_config_update": given({"seeds": {"test": {"expected": types}}})}


MICROBATCH = """
{{ config(
    materialized='incremental', incremental_strategy='microbatch', event_time='event_time',
    batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0),
    partition_by=['date_day'], file_format='parquet'
) }}
select *, cast(event_time as date) as date_day from {{ ref('input_model') }}
"""
NOW = """
select current_timestamp() as current_timestamp,
    current_timestamp::timestamp as current_timestamp_in_utc_backcompat,
    current_timestamp::timestamp as current_timestamp_backcompat
"""
NAMES_OF_NOW = [part.split()[-1] for part in NOW.split(",")]
CREATE = """
create or replace table <model_identifier> using delta as select id, color, date_day from (
    -- depends_on: <foreign_key_model_identifier>
    select 'blue' as color, 1 as id, '2019-01-01' as date_day
) as model_subq
"""

# What a class is given in place of its own, by MODULE.CLASS.
HERE = {
    "basic.test_docs_generate.TestDocsGenerate": {"expected_catalog": catalog},
    "basic.test_docs_generate.TestDocsGenReferences": {"expected_catalog": catalog_of_references},
    "constraints.test_constraints.TestTableConstraintsColumnsEqual": TYPES,
    "constraints.test_constraints.TestViewConstraintsColumnsEqual": TYPES,
    "constraints.test_constraints.TestIncrementalConstraintsColumnsEqual": TYPES,
    "constraints.test_constraints.TestTableConstraintsRuntimeDdlEnforcement": {
        "expected_sql": given(CREATE)
    },
    "constraints.test_constraints.TestIncrementalConstraintsRuntimeDdlEnforcement": {
        "expected_sql": given(CREATE)
    },
    "constraints.test_constraints.TestModelConstraintsRuntimeEnforcement": {
        "expected_sql": given(CREATE)
    },
    # dbt-spark replaces a table, then holds it to its constraints.
    "constraints.test_constraints.TestTableConstraintsRollback": {
        "expected_color": given("red"),
        "expected_error_messages": given(["DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"]),
    },
    "constraints.test_constraints.TestIncrementalConstraintsRollback": {
        "expected_error_messages": given(["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"]),
    },
    "hooks.test_run_hooks.TestPrePostRunHooks": {
        "check_hooks": check_run_hooks,
        "assert_used_schemas": check_schemas,
    },
    "incremental.test_incremental_microbatch.BaseMicrobatch": {
        "microbatch_model_sql": given(MICROBATCH)
    },
    "simple_seed.test_seed_type_override.TestSimpleSeedColumnOverride": {
        "seed_enabled_types": staticmethod(lambda: {"seed_id": "string", "birthday": "date"}),
        "seed_tricky_types": staticmethod(
            lambda: dict.fromkeys(
                ("seed_id_str", "looks_like_a_bool", "looks_like_a_date"), "string"
            )
        ),
    },
    "unit_testing.test_types.TestPostgresUnitTestingTypes": {
        "data_types": given(
            [
                ["1", "1"],
                ["'1'", "1"],
                ["true", "true"],
                ["date '2020-01-02'", "2020-01-02"],
                ["timestamp '2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
                ["array(1, 2)", "'array(1, 2)'"],
                ["cast(1 as decimal(3, 1))", "1"],
            ]
        )
    },
    "utils.data_types.test_type_int.TestTypeInt": typed_seed("int_col", "int"),
    "utils.data_types.test_type_float.TestTypeFloat": typed_seed("float_col", "float"),
    "utils.test_timestamps.TestCurrentTimestamps": {
        "expected_schema": given(dict.fromkeys(NAMES_OF_NOW, "timestamp")),
        "expected_sql": given(NOW),
    },
    **{
        f"hooks.test_model_hooks.{name}": {"check_hooks": check_model_hooks}
        for name in (
            "TestPrePostModelHooks",
            "TestPrePostModelHooksUnderscores",
            "TestHookRefs",
            "TestPrePostModelHooksInConfig",
            "TestPrePostModelHooksInConfigWithCount",
            "TestPrePostModelHooksInConfigKwargs",
        )
    },
}
