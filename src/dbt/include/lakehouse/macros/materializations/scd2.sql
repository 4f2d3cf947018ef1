{#- The field's name of `history`. -#}
{% materialization scd2, adapter='lakehouse' %}
    {{ return(run_gold_model(sql)) }}
{% endmaterialization %}
