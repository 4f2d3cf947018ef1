{#-
    The current rows of a source table. The model is a projection of one row image; its YAML names the key. All rows,
    those of deleted keys as tombstones and one marker per truncated table, are kept in the schema gold_storage under the
    model's name, which one Delta commit a run brings up to date; the model itself is the view of the active rows.
    A change that does not carry all columns changes those it carries; only then are columns looked at one by one.
-#}
{% materialization current_state, adapter='lakehouse' %}
    {{ return(run_gold_model(sql)) }}
{% endmaterialization %}
