"""What is kept of a run's seconds, and the order that follows from it."""

from recorded import longest_first, merged, timings

SECONDS = {
    "tests/silver/test_a.py::test_slow[x::y]": 2.04,
    "tests/silver/test_a.py::test_quick": 0.31,
    "tests/silver/test_b.py::test_b": 0.2,
}


def test_a_module_has_all_seconds_and_names_its_slow_tests():
    assert timings(SECONDS) == {
        "test_a.py": {"seconds": 2.4, "slow": {"test_slow[x::y]": 2.0}},
        "test_b.py": {"seconds": 0.2, "slow": {}},
    }


def test_modules_that_were_not_run_keep_their_seconds():
    kept = {"test_c.py": {"seconds": 5.0, "slow": {}}, "test_b.py": {"seconds": 9.0, "slow": {}}}
    found = merged(kept, timings(SECONDS))
    assert list(found) == ["test_a.py", "test_b.py", "test_c.py"]
    assert [found[name]["seconds"] for name in found] == [2.4, 0.2, 5.0]


def test_what_takes_longest_comes_first_and_what_is_new_before_it():
    kept = {"test_a.py": {"seconds": 1.0}, "test_b.py": {"seconds": 3.0}}
    assert longest_first(["test_a.py", "test_b.py", "test_new.py"], kept) == [
        "test_new.py",
        "test_b.py",
        "test_a.py",
    ]
