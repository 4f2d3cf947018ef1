select * from {{ ref('sessions') }} where ended_at < began_at
