"""What the steps of a command took: how it is added up, kept and printed."""

import json
from dataclasses import replace

import pytest

from cdc_lakehouse.console import cli
from cdc_lakehouse.console.timings import timings_text
from cdc_lakehouse.runtime.timings import (
    Recorder,
    Step,
    Timings,
    add_stages,
    commands_timed,
    read_timings,
)

RUN = Timings(
    "dbt-run",
    "2026-11-25T22:00:00+00:00",
    10.0,
    (
        Step("events", "finds new messages", 1.0, 0.5),
        Step("orders", "asks", 3.0, 2.0, 7, 900, 0, 0),
        Step("events", "writes and commits", 1.5, 2.5, 1000, 2048, 1200, 4096),
    ),
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_DIR", str(tmp_path))
    return tmp_path


def test_the_steps_of_a_model_are_added_up():
    assert RUN.by_part() == [
        Step("events", "", 1.0, 3.0, 1000, 2048, 1200, 4096),
        Step("orders", "", 3.0, 2.0, 7, 900),
    ]


def test_time_in_two_threads_counts_once():
    # From 1.0 to 5.0 some step was at work.
    assert RUN.seconds_outside == pytest.approx(6.0)
    assert Timings("dbt-run", "", 2.0, ()).seconds_outside == 2.0


def test_a_step_has_what_the_stages_of_its_jobs_read_and_wrote():
    def stage(number, read, written):
        counts = {"inputRecords": read, "inputBytes": 10 * read}
        return {"stageId": number} | counts | {"outputRecords": written, "outputBytes": 5 * written}

    steps = {"one": Step("events", "asks", 0.0), "two": Step("orders", "asks", 0.0, rows_read=1)}
    stages = {n: stage(n, read, written) for n, read, written in ((1, 3, 0), (2, 0, 4), (3, 9, 9))}
    jobs = [
        {"jobGroup": "one", "stageIds": [1]},
        # It takes over what the first job has shuffled, and Spark has forgotten a stage of it.
        {"jobGroup": "one", "stageIds": [1, 2, 77]},
        {"jobGroup": "two", "stageIds": [3]},
        {"jobGroup": "a stream's", "stageIds": [3]},
        {"stageIds": [3]},
    ]
    add_stages(steps, jobs, stages.get)
    assert steps == {
        "one": Step("events", "asks", 0.0, 0.0, 3, 30, 4, 20),
        "two": Step("orders", "asks", 0.0, 0.0, 10, 90, 9, 45),
    }


def test_a_step_inside_another_is_a_part_of_it(home):
    recorder = Recorder()
    with recorder.step("orders", "writes") as outer:
        with recorder.step("orders", "runs a statement"):
            pass
        outer.rows_read += 3
    with pytest.raises(ZeroDivisionError), recorder.step("orders", "fails"):
        raise ZeroDivisionError
    recorder.finish("dbt-run", None)
    kept = read_timings("dbt-run")
    assert [(s.part, s.name, s.rows_read) for s in kept.steps] == [
        ("orders", "writes", 3),
        ("orders", "fails", 0),
    ]
    assert 0 <= kept.steps[1].seconds <= kept.seconds


def test_a_command_leaves_its_timings_and_the_next_one_others(home):
    recorder = Recorder()
    recorder.finish("dbt-debug", None)
    assert commands_timed() == []
    for command in ("ingest-files", "dbt-run", "dbt-run"):
        with recorder.step(command, "works"):
            pass
        recorder.finish(command, None)
    assert sorted(commands_timed()) == ["dbt-run", "ingest-files"]
    assert len(read_timings("dbt-run").steps) == 1


def test_what_cannot_be_kept_is_said_and_the_command_goes_on(home):
    (home / "timings").write_text("no folder")
    recorder = Recorder()
    with recorder.step("orders", "works"):
        pass
    said = recorder.finish("dbt-run", None)
    assert said.startswith("The timings of this command were not kept: ")
    assert recorder.finish("dbt-run", None) is None


def test_the_table_has_a_line_for_each_model_or_step():
    models = timings_text(RUN, steps=False)
    assert "dbt run, 2026-11-25 22:00:00 UTC: 10.0 s, of which 6.0 s in none of these" in models
    assert models.splitlines()[-2].split() == [
        *("events", "1.0", "3.0"),
        *("1,000", "2,048", "1,200", "4,096"),
    ]
    assert "writes and commits" in timings_text(RUN, steps=True)


def test_the_table_says_what_java_took_and_to_compile():
    assert "Java" not in timings_text(RUN, steps=False)
    said = timings_text(replace(RUN, java_seconds=8.04, compiler_seconds=3.21), steps=False)
    assert said.splitlines()[1] == "Java took 8.0 s of CPU, 3.2 of them to compile"


def test_the_command_prints_the_last_ingest_and_the_last_run(home, capsys):
    folder = home / "timings"
    folder.mkdir()
    for command in ("ingest-files", "dbt-test", "dbt-build"):
        text = json.dumps(vars(RUN) | {"command": command, "steps": [vars(RUN.steps[0])]})
        (folder / f"{command}.json").write_text(text)
    assert cli.main(["timings"]) == 0
    said = capsys.readouterr().out
    assert ("ingest files," in said, "dbt build," in said, "dbt test," in said) == (
        True,
        True,
        False,
    )
    assert cli.main(["timings", "dbt-test", "--json"]) == 0
    [printed] = json.loads(capsys.readouterr().out)
    assert (printed["command"], printed["steps"][0]["part"]) == ("dbt-test", "events")


def test_where_nothing_was_timed_the_commands_that_were_are_named(home, capsys):
    assert cli.main(["timings"]) == 2
    assert "No ingest, dbt run or dbt build has left its timings" in capsys.readouterr().err
    (home / "timings").mkdir()
    (home / "timings" / "dbt-test.json").write_text("{")
    assert cli.main(["timings", "dbt-tset"]) == 2
    said = capsys.readouterr().err
    assert (
        "No dbt-tset has left its timings in this lakehouse. There are timings of dbt-test." in said
    )
