"""Decode bytes of MySQL's character sets, and of some of Oracle's and Java's.

A charset is what the database takes it for, not what Python knows by its name: the tables of one
byte are those of MySQL's own share/charsets.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping

# Names of codecs that are the same as a charset of another name.
_CODECS = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "al32utf8": "utf-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16be": "utf-16-be",
    "utf16le": "utf-16-le",
    "al16utf16": "utf-16-be",
    "utf32": "utf-32-be",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "tis620": "tis-620",
    "ascii": "ascii",
    "koi8r": "koi8-r",
    "gbk": "gbk",
    "zhs16gbk": "gbk",
    "gb2312": "gb2312",
    "gb18030": "gb18030",
    "big5": "cp950",  # with the seven characters of ETEN from F9D6 on
    "ujis": "euc_jp",
    "sjis": "shift_jis",
    "cp932": "cp932",
    "euckr": "cp949",  # with all of Hangul, 8141 to C8FE
    "hp8": "hp-roman8",
    "macroman": "mac-roman",
    "macce": "mac-latin2",
}
# Codecs of Python that no database has: they evaluate escapes or take quadratic time.
_NOT_CHARSETS = ("unicode-escape", "raw-unicode-escape", "idna", "punycode", "utf-7", "undefined")

_FREE = "\ufffe"  # no character, for `charmap_decode`


def _table(codec: str, changes: Mapping[int, str] | None = None, free: Iterable[int] = ()) -> str:
    """Return the 256 characters of a codec with some bytes replaced, others free."""
    table = [bytes([b]).decode(codec, "ignore") or _FREE for b in range(256)]
    for first, characters in (changes or {}).items():
        table[first : first + len(characters)] = characters
    for byte in free:
        table[byte] = _FREE
    return "".join(table)


_ARMENIAN = "".join(chr(0x531 + letter) + chr(0x561 + letter) for letter in range(38))
_TABLES = {
    # Windows-1252 with the five bytes that are free there as themselves.
    "latin1": "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in range(256)),
    "armscii8": _table(
        "latin1",
        {
            0xA1: "\u2741\u00a7\u0589)(\u00bb\u00ab\u2014.\u055d,-\u055f\u2026\u055c\u055b\u055e"
            + _ARMENIAN
            + "\u2019'"
        },
    ),
    "dec8": _table(
        "latin1",
        {0xA8: "¤", 0xD7: "Œ", 0xDD: "Ÿ", 0xF7: "œ", 0xFD: "ÿ"},
        bytes.fromhex("a4a6acadaeafb4b8bed0def0feff"),
    ),
    "geostd8": _table(
        "cp1252",
        {0xC0: "აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ", 0xFD: "№"},
        [*bytes.fromhex("83888a8c8e98999a9c9e9f"), *range(0xE6, 0xFD), 0xFE, 0xFF],
    ),
    "greek": _table("iso8859-7", {0xA1: "\u02bd\u02bc"}),
    "hebrew": _table("iso8859-8", {0xAF: "‾"}),
    "koi8u": _table("koi8-u", {0x95: "•"}),
    "keybcs2": _table("cp437", {0x80: "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ"}),
    "swe7": _table("ascii", {0x40: "É", 0x5B: "ÄÖÅÜ", 0x60: "é", 0x7B: "äöåü"}, [0x7F]),
}


def decoder(charset: str) -> Callable[[bytes], str] | None:
    """Return bytes -> str for a charset's name, None if nobody knows it.

    The function raises ValueError for bytes that are no characters; nothing is ever replaced.
    """
    name = charset.lower()
    if name == "":
        return bytes.hex  # bytes without a charset, which the vendor's own reader prints so
    if name in _TABLES:
        table = _TABLES[name]
        # A text is as good a map; typeshed does not know that.
        return lambda data: codecs.charmap_decode(data, "strict", table)[0]  # type: ignore[arg-type]
    if name == "eucjpms":
        return _eucjpms
    try:
        codec = codecs.lookup(_CODECS.get(name, charset)).name
        b"a".decode(codec, "replace")  # LookupError for codecs that are not text, like zip
    except (LookupError, ValueError, UnicodeError):
        return None
    return None if codec in _NOT_CHARSETS else lambda data: data.decode(codec)


def _ibm_extensions() -> str:
    """Return the characters of IBM that JIS X 0212 lacks, which eucJP-ms has from 8FF3F3 on."""
    rows = [(0xFA, 0x40, 0xFC), (0xFB, 0x40, 0xFC), (0xFC, 0x40, 0x4B)]
    all_of_them = "".join(
        bytes([row, cell]).decode("cp932")
        for row, first, last in rows
        for cell in range(first, last + 1)
        if cell != 0x7F
    )
    # Twenty Roman numbers, five signs from the full-width apostrophe on, then kanji.
    kanji = [c for c in all_of_them[28:] if not _is_in("euc_jp", c)]
    return all_of_them[:20] + all_of_them[22:27] + "".join(kanji)


def _is_in(codec: str, character: str) -> bool:
    try:
        character.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


_IBM_EXTENSIONS = _ibm_extensions()


def _eucjpms(data: bytes) -> str:
    """Decode eucJP-ms: EUC-JP with the characters of Windows-31J and those that users define."""
    text, at = [], 0
    while at < len(data):
        length = 1 if data[at] < 0x80 else 3 if data[at] == 0x8F else 2
        one = data[at : at + length]
        character = _eucjpms_character(one) if len(one) == length else None
        if character is None:
            raise UnicodeDecodeError("eucjpms", data, at, at + length, "no character")
        text.append(character)
        at += length
    return "".join(text)


def _eucjpms_character(one: bytes) -> str | None:
    if len(one) == 1:
        return chr(one[0])
    if min(one[1:]) < 0xA1 or max(one[1:]) > 0xFE:
        return None
    row, cell = one[-2] - 0xA1, one[-1] - 0xA1
    if one[0] == 0x8F:
        if 0xF3F3 <= one[1] << 8 | one[2] <= 0xF4FE:
            return _IBM_EXTENSIONS[(row - 82) * 94 + cell - 82]
        if one[1] >= 0xF5:
            return chr(0xE3AC + (row - 84) * 94 + cell)
        return _decoded(one, "euc_jp")
    if one[0] == 0x8E:
        return _decoded(one, "euc_jp")
    if one[0] < 0xA1:
        return None
    if one[0] >= 0xF5:
        return chr(0xE000 + (row - 84) * 94 + cell)
    # The same character in Windows-31J, which packs two rows into one.
    lead = (0x81 if row < 62 else 0xC1) + row // 2
    trail = cell + 0x9F if row % 2 else cell + 0x40 + (cell >= 63)
    return _decoded(bytes([lead, trail]), "cp932")


def _decoded(one: bytes, codec: str) -> str | None:
    try:
        return one.decode(codec)
    except UnicodeDecodeError:
        return None
