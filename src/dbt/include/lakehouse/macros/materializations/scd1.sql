{#- The field's name of `current_state`. -#}
{% materialization scd1, adapter='lakehouse' %}
    {{ return(run_gold_model(sql)) }}
{% endmaterialization %}
