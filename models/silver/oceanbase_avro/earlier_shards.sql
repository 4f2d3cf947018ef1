select
    topic,
    partition,
    offset,
    bronze_version,
    sequence,
    kind,
    value
from {{ processed_shards() }}
