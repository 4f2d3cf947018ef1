"""Format figures for a person."""

UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """Return a time span in its two largest units: `2 d 3 h`, `45 s`, `0.2 s`."""
    if seconds < 1:
        return f"{seconds:.1f} s"
    rest = round(seconds)
    words: list[str] = []
    for name, size in UNITS:
        count, rest = divmod(rest, size)
        if count or words:
            words.append(f"{count} {name}" if count else "")
        if len(words) == 2:
            break
    return " ".join(filter(None, words))
