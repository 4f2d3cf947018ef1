"""Times that a person gives: 30s, 5m, 1h."""

import re

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> int:
    """Return the seconds of a time such as 30s, 5m or 1h; a number alone is one of seconds.

    Raises:
        ValueError: the text is no such time.
    """
    match = re.fullmatch(r"([0-9]{1,6})([smh]?)", text.strip().lower())
    if match is None or not int(match[1]):
        raise ValueError(f"{text!r} is no time such as 30s, 5m or 1h")
    return int(match[1]) * UNITS[match[2]]
