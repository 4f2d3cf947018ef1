"""What the summaries of silver must show: the same, asked of all messages and results."""

import re

OF_ALL = {
    "message_counts": """
        select topic, partition, count(*) as deliveries, count(distinct offset) as offsets,
            min(offset) as first_offset, max(offset) as last_offset,
            max(ingested_at) as last_ingested_at
        from bronze.messages group by all""",
    "result_counts": """
        select topic, partition, format, database_name, schema_name, table_name, kind, operation,
            is_duplicate, is_late, count(*) as results,
            min(if(committed_at is null, null, sequence)) as first_sequence,
            max(if(committed_at is null, null, sequence)) as last_sequence,
            min(committed_at) as first_committed_at,
            max(committed_at) as last_committed_at,
            max(ingested_at) as last_ingested_at, max(loaded_at) as last_processed_at,
            max(bronze_version) as bronze_version
        from silver.events group by all""",
    "column_shapes": """
        select database_name, schema_name, table_name, format, source_type,
            array_sort(array_distinct(concat(
                ifnull(map_keys(before), array()), ifnull(map_keys(after), array())))) as names,
            sort_array(map_entries(column_types)) as types,
            after is not null and after_is_complete is true as is_whole,
            min(struct(sequence, committed_at, topic, partition, offset)) as first_seen,
            max(struct(sequence, committed_at, topic, partition, offset)) as last_seen,
            max(bronze_version) as bronze_version
        from silver.events where kind = 'row_change' group by all""",
}
SHOWN = {
    "message_counts": """
        select topic, partition, sum(deliveries), sum(bitmap_count(offsets)), min(first_offset),
            max(last_offset), max(last_ingested_at)
        from silver.message_counts group by all""",
    "result_counts": """
        select * except (last_commit, last_ingested_at, last_processed_at, bronze_version),
            last_commit.committed_at, last_ingested_at, last_processed_at, bronze_version
        from silver.result_counts""",
    "column_shapes": "select * from silver.column_shapes",
}


def keep_always(project):
    """Let the summaries of a project keep what they show in every run that brings something."""
    path = project / "dbt_project.yml"
    text = path.read_text()
    option = "    silver:\n      +keeps_after_bytes: 0\n"
    path.write_text(re.sub(r"^    silver:\n", option, text, flags=re.MULTILINE))


def check_summaries(lakehouse):
    """Compare the summaries with what there is; return how many rows they keep in all."""
    for name, of_all in OF_ALL.items():
        both = f"select *, 1 as side from ({SHOWN[name]}) union all select *, -1 from ({of_all})"
        counted = f"select * except (side), sum(side) as more from ({both}) group by all"
        assert lakehouse.query(f"{counted} having more <> 0") == [], name
    kept = " union all ".join(f"select count(*) as n from silver.{name}_kept" for name in OF_ALL)
    return [row["n"] for row in lakehouse.query(kept)]
