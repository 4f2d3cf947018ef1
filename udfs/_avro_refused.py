"""Why a value cannot be decoded, and what the Avro decoders remember from message to message."""


class Refused(Exception):
    """A message that cannot be decoded: error code, detail for a person."""


def reason(error):
    """Say what an unforeseen error is, in one line."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def checked_value(value):
    """Return `value` if it holds any bytes, refuse it otherwise."""
    if not value:
        raise Refused("empty_value", "the value is null" if value is None else "zero bytes")
    return value


def keep(known, key, found):
    """Put `found` into a memory that never holds more than a thousand, and return it."""
    if len(known) >= 1000:
        known.clear()
    known[key] = found
    return found


def remembered(function):
    """Keep answers for arguments that come with every message. Plain closures, because
    functools.lru_cache objects cannot be pickled by value."""
    answers = {}

    def answer(argument):
        try:
            return answers[argument]
        except KeyError:
            return keep(answers, argument, function(argument))

    return answer
