select
    topic,
    partition,
    offset,
    bronze_version,
    sequence,
    kind,
    value
from {{ settled_shards() }}
