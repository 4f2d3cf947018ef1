"""Which files an ingest finds, how much it unpacks, and what a file begins with; without Spark."""

import gzip
import random
import shutil
from hashlib import blake2b, sha256

import pytest

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest import files, room
from cdc_lakehouse.ingest.columns import Refused
from cdc_lakehouse.ingest.delivered import find_once
from cdc_lakehouse.ingest.generations import begins_alike
from cdc_lakehouse.ingest.report import problem


@pytest.fixture
def landing(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path / "landing" / "lake"))
    (tmp_path / "landing").mkdir()
    return tmp_path / "landing"


def write(path, content=b"x\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found(landing, known=(), roots=None):
    """Return the files, the problems and the notes, each without the name of the landing folder."""
    problems, notes = [], []

    def refuse(path, error):
        problems.append(problem(path, error))

    paths = find_once(roots or [str(landing)], known, refuse, notes.append)
    shown = (
        [text.removeprefix(f"{landing}/") for text in each] for each in (paths, problems, notes)
    )
    return tuple(map(sorted, shown))


def test_linked_folders_are_read_once_and_loops_are_named(landing, tmp_path):
    share = tmp_path / "share"
    write(share / "orders" / "x.jsonl")
    write(share / "items" / "deep" / "y.jsonl")
    write(landing / "real" / "z.jsonl")
    write(landing / "lake" / "warehouse" / "own.parquet")
    (landing / "shop.orders").symlink_to(share / "orders")
    (landing / "z.items").symlink_to(share / "items")
    (landing / "z.deep").symlink_to(share / "items" / "deep")
    (landing / "a.again").symlink_to(landing / "real")
    (landing / "own").symlink_to(landing / "lake" / "warehouse")
    (landing / ".hidden").symlink_to(share)
    (landing / "_hidden").symlink_to(share)
    (share / "items" / "back").symlink_to(share / "items")
    (share / "items" / "orders").symlink_to(share / "orders")
    (share / "orders" / "up").symlink_to(tmp_path)
    (share / "orders" / "self").symlink_to("self")
    (landing / "real" / "also.jsonl").symlink_to(landing / "real" / "z.jsonl")
    (landing / "real" / "linked.jsonl").symlink_to(write(tmp_path / "elsewhere.jsonl"))

    assert found(landing) == (
        ["real/linked.jsonl", "real/z.jsonl", "shop.orders/x.jsonl", "z.deep/y.jsonl"],
        [
            "shop.orders/self is a link to self, which is not there. Mend it.",
            "shop.orders/up is a link to a folder that it lies in. Remove the link.",
            "z.items/back is a link to a folder that it lies in. Remove the link.",
        ],
        [
            "1 links lead to files that land under another path.",
            "a.again is read under another path, too: what is in it lands once.",
            "z.items/deep is read under another path, too: what is in it lands once.",
            "z.items/orders is read under another path, too: what is in it lands once.",
        ],
    )
    assert found(landing, roots=[str(landing), str(share / "orders")])[0] == found(landing)[0]


def test_a_file_that_has_landed_keeps_its_path(landing, tmp_path):
    write(tmp_path / "share" / "x.jsonl")
    for name in ("b", "c"):
        (landing / name).symlink_to(tmp_path / "share")
    known = [f"{landing}/c/x.jsonl", f"{landing}/gone/x.jsonl"]
    assert found(landing)[0] == ["b/x.jsonl"]
    assert found(landing, known)[0] == ["c/x.jsonl"]
    (landing / "c").unlink()
    assert found(landing, known)[0] == ["b/x.jsonl"]


def test_a_root_may_be_a_link_and_a_ring_of_links_ends(landing, tmp_path):
    (tmp_path / "link").symlink_to(landing)
    write(landing / "a" / "x.jsonl")
    write(landing / "b" / "y.jsonl")
    (landing / "a" / "to_b").symlink_to(landing / "b")
    (landing / "b" / "to_a").symlink_to(landing / "a")
    root = tmp_path / "link"
    paths, problems, _ = found(root)
    assert (paths, problems) == (["a/x.jsonl", "b/y.jsonl"], [])


def staged(path, folder, limits):
    file = files.describe(str(path))
    file.topic, file.partition = "t", 0
    folder.mkdir(exist_ok=True)
    return files.stage(file, folder, limits)


def test_a_file_is_unpacked_as_far_as_it_may(landing, tmp_path):
    folder = tmp_path / "staging"
    bomb = write(landing / "b.jsonl.gz", gzip.compress((b"x" * 999_999 + b"\n") * 100))
    empty = write(landing / "e.jsonl.gz", gzip.compress(b"\n" * 1_000_000))
    for path, limit in ((bomb, 40_000_000), (empty, 999_999)):
        with pytest.raises(Refused, match=f"more than {limit:,} bytes once it is unpacked. Deliv"):
            staged(path, folder, room.Room(folder, limit))
    assert list(folder.iterdir()) == []
    limits = room.Room(folder, 100_000_000)
    assert staged(bomb, folder, limits).messages == {"t": 100}
    assert limits.staged == sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("is_copied_here", [True, False])
def test_a_file_that_the_disk_has_no_room_for_leaves_it_to_others(
    landing, tmp_path, monkeypatch, is_copied_here
):
    folder = tmp_path / "staging"
    free = room.MARGIN + 4_000_000

    def disk_usage(path):
        used = sum(each.stat().st_size for each in path.iterdir())
        return shutil._ntuple_diskusage(free, used, free - used)

    monkeypatch.setattr(room.shutil, "disk_usage", disk_usage)
    limits = room.Room(folder, is_copied_here=is_copied_here)
    noise = [
        random.Random(n).randbytes(n // 2).hex().encode() + b"\n" for n in (6_000_000, 999_999)
    ]
    large = write(landing / "a.jsonl", noise[0])
    small = write(landing / "b.jsonl", noise[1])
    several = write(landing / "c.jsonl", noise[1] * 40)
    if is_copied_here:
        with pytest.raises(Refused, match=r"takes more room than there is: .*Free room there"):
            staged(several, folder, limits)
        assert list(folder.iterdir()) == []
    assert staged(small, folder, limits).bytes == len(noise[1]) - 1
    monkeypatch.setattr(files, "BATCH_BYTES", 1_000_000)
    if is_copied_here:  # with a large message, bronze takes all bytes of all messages
        with pytest.raises(Refused, match="takes more room"):
            staged(large, folder, limits)
    limits.empty()
    assert (limits.staged, limits.values, limits.has_large) == (0, 0, False)


@pytest.mark.parametrize("text", ["8G", "0", "-1", "1e9"])
def test_a_wrong_limit_is_refused(monkeypatch, text):
    monkeypatch.setenv(room.VARIABLE, text)
    with pytest.raises(LakehouseError, match=f"{room.VARIABLE} is '{text}'"):
        room.max_file_bytes()
    monkeypatch.setenv(room.VARIABLE, "")
    assert room.max_file_bytes() == room.MAX_FILE_BYTES


def test_the_digests_of_what_a_file_begins_with(landing):
    path = str(write(landing / "x.jsonl", b"a\nbc\nd"))
    whole, beginnings = files.digests_of(path, [0, 1, 2, 5, 6, 60])
    assert whole == files.digest_of(path) == blake2b(b"a\nbc\nd").hexdigest()
    assert beginnings == {size: blake2b(b"a\nbc\nd"[:size]).hexdigest() for size in (0, 2, 5)}


@pytest.mark.parametrize(
    ("content", "count", "landed", "alike"),
    [
        (b"a\nb\n", 2, b"a b", True),
        (b"a\nb\nc\n", 2, b"a b", True),
        (b"a\n", 2, b"a b", True),
        (b"", 2, b"a b", True),
        (b"a\nc\n", 2, b"a b", False),
        (b"a\nb\n", 3, b"a b", True),
        (b"a\nb\nc\n", 3, b"a b", False),  # nobody knows what the third one was
        (b"a\n", 0, b"", True),
    ],
)
def test_whether_lines_begin_with_those_that_have_landed(landing, content, count, landed, alike):
    rows = [(n, sha256(line).hexdigest()) for n, line in enumerate(landed.split())]
    for name, written in (("x.jsonl", content), ("x.jsonl.gz", gzip.compress(content))):
        file = files.describe(str(write(landing / name, written)))
        assert begins_alike(file, count, iter(rows)) is alike
    holes = [(n + 1, digest) for n, digest in rows]
    assert not holes or content == b"" or not begins_alike(file, count, iter(holes))
