{#-
    Every version of the rows of a source table, and when it was true: [valid_from, valid_to) by the source's commits. The model
    is the same projection as that of the current rows. All changes, deletes and truncates too, are kept in the schema
    gold_storage under the model's name, so that a late one finds its place; the model itself is the view of the versions.
-#}
{% materialization history, adapter='lakehouse' %}
    {{ return(run_gold_model(sql)) }}
{% endmaterialization %}
