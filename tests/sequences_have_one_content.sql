-- Different changes of one table with one place in the source: the format's position is not unique, so the delivery decided
-- which of them gold shows. See silver.conflicting_changes, and the page of the format.
{{ config(severity='warn', meta={'look_at': 'silver.conflicting_changes'}) }}

{{ conflicts_among(ref('events'), adapter.data_tests.places_since(passed_before() | int)) }}
