"""Writer of Canal JSON as Tencent Cloud's DTS documents it, in the partially compatible mode."""

# What a format is said to be is never changed.
# ruff: noqa: RUF012

from datetime import UTC

from encoders.base import BINARY, Bare
from encoders.dts import DtsCanal


class TencentCanal(DtsCanal):
    format = "tencent_canal"
    route = {}
    zone = UTC
    # The delivery is a part of the place of a change.
    tells_copies = False

    def envelope(self, event):
        return {**super().envelope(event), "id": Bare(event.seconds * 10**7 + event.first_id)}

    def value(self, column, value):
        if value is None:
            return None
        if column.kind in BINARY:
            return value.hex()
        text = super().value(column, value)
        return f"{text} +00:00" if column.kind == "timestamp" else text
