"""Decoded values as canonical text."""

from __future__ import annotations

import re
import struct

from udfs import _charsets
from udfs._avro_refused import Refused, remembered

_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)0*([0-9]+))?")
_SPECIAL = re.compile(r"[+-]?[A-Za-z_~]+")
# A longer exponent stays as sent: a few bytes must not become gigabytes.
_MOST_DIGITS_OF_EXPONENT = 4


def plain_decimal(text: str) -> str:
    """Spell a decimal number without exponent, every digit kept."""
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        if _SPECIAL.fullmatch(text):  # NaN, Infinity, ~, NOT_ASSIGNED
            return text
        raise Refused("wrong_type", f"{text[:100]!r} is not a decimal number")
    sign, whole, fraction = match[1], match[2], match[3] or ""
    if len(match[5] or "") > _MOST_DIGITS_OF_EXPONENT:
        return text
    exponent = int(match[4] + match[5]) if match[5] else 0
    if exponent > 0:
        fraction = fraction.ljust(exponent, "0")
        whole, fraction = whole + fraction[:exponent], fraction[exponent:]
    elif exponent < 0:
        whole = whole.rjust(-exponent, "0")
        whole, fraction = whole[:exponent], whole[exponent:] + fraction
    plain = (whole.lstrip("0") or "0") + ("." + fraction if fraction else "")
    return "-" + plain if sign == "-" and plain.strip("0.") else plain


def float_text(value: float, is_single: bool) -> str:
    """Shortest text that reads back to the same number, without exponent, with at least one digit
    after the point: 0.1, 5.0, 10000000000000000.0. Not numbers: NaN, Infinity, -Infinity.
    `is_single`: the column holds four-byte floats, whatever `value` was widened to."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    text = (_single(value) if is_single else None) or repr(value)
    if "e" in text:
        text = plain_decimal(text)
    return text if "." in text else text + ".0"


_LEAST_NORMAL_SINGLE = 2.0**-126


def _single(value: float) -> str | None:
    """Shortest text that reads back to the same four-byte float, None if `value` is not one."""
    if _as_single(value) != value:
        return None
    # A four-byte float that has a shorter text than six digits is spelled so by six digits, too.
    fewest = 6 if abs(value) >= _LEAST_NORMAL_SINGLE else 1
    for digits in range(fewest, 10):
        text = f"{value:.{digits}g}"
        if _as_single(float(text)) == value:
            return text
    return None


def _as_single(value: float) -> float | None:
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return None
    return single


_decoder = remembered(_charsets.decoder)


def characters(data: bytes, charset: str) -> str:
    """Decode text of a database's charset; nothing is ever replaced."""
    decoder = _decoder(charset)
    if decoder is None:
        raise Refused("unknown_charset", f"unknown charset {charset[:100]!r}")
    try:
        return decoder(data)
    except ValueError as error:
        at = getattr(error, "start", 0)
        found = data[at : at + 4].hex()
        raise Refused("not_text", f"not {charset} text: bytes {found} at {at}") from None


_DAY = 86400


def epoch_text(seconds: int, fraction: int, digits: int) -> str:
    """YYYY-MM-DD HH:MM:SS[.f] of seconds since 1970 and a fraction of so many digits."""
    days, clock = divmod(seconds, _DAY)
    time = f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
    return f"{day_text(days)} {time}{fraction_text(fraction, digits)}"


@remembered
def day_text(days: int) -> str:
    """YYYY-MM-DD of a count of days since 1970-01-01, for any year (datetime ends at 9999)."""
    era, day = divmod(days + 719468, 146097)  # eras of 400 years that begin on a first of March
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    return date_text(400 * era + year + (month <= 2), month, day + 1)


def date_text(year: int, month: int, day: int) -> str:
    """YYYY-MM-DD, zero dates kept."""
    if not (0 <= month <= 12 and 0 <= day <= 31):
        raise Refused("wrong_type", f"year {year}, month {month}, day {day} is no date")
    return f"{year_text(year)}-{month:02d}-{day:02d}"


def year_text(year: int) -> str:
    """YYYY, with a sign before Christ."""
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def time_text(
    hour: int, minute: int, second: int, fraction: int, digits: int, most_hours: int
) -> str:
    """HH:MM:SS[.f] of parts without sign."""
    if not (0 <= hour <= most_hours and 0 <= minute <= 59 and 0 <= second <= 60):
        detail = f"hour {hour}, minute {minute}, second {second} is no time"
        raise Refused("wrong_type", detail)
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction_text(fraction, digits)}"


def fraction_text(fraction: int, digits: int) -> str:
    """.f without trailing zeros, nothing for none."""
    if not fraction:
        return ""
    if not 0 <= fraction < 10**digits:
        raise Refused("wrong_type", f"a fraction of {fraction} does not fit {digits} digits")
    return "." + str(fraction).zfill(digits).rstrip("0")
