"""What is kept of a run's seconds, and the order that follows from it."""

import pytest
from recorded import longest_first, merged, share_of, timings

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


def test_each_module_is_in_one_share_and_the_shares_take_as_long():
    kept = {
        "test_a.py": {"seconds": 90.0, "slow": {"test_x": 50.0, "test_y": 9.0}},
        "test_b.py": {"seconds": 30.0, "slow": {"test_x": 30.0}},
        "test_c.py": {"seconds": 20.0, "slow": {}},
    }
    # Of test_a.py half is not asked for; test_new.py counts for 60 s.
    tests = {name: ["test_x"] for name in (*kept, "test_new.py")}
    assert [share_of(tests, kept, f"{number}/2") for number in (1, 2)] == [
        {"test_new.py", "test_c.py"},
        {"test_a.py", "test_b.py"},
    ]
    assert share_of(tests, kept, "1/1") == set(tests)


def test_a_share_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="4/3 is no share"):
        share_of({}, {}, "4/3")
