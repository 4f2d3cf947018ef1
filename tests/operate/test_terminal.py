"""What a person at a terminal and a program in a script get of every command."""

import argparse
import ast
import json
import os
import re
import shlex
import subprocess
import sys
import time

import pytest
from conftest import PROJECT
from terminal import Terminal, terminal_as_stderr

from cdc_lakehouse.console import cli, next_steps
from cdc_lakehouse.console.overview import GoldTable, Overview, Topic
from cdc_lakehouse.exits import Exit
from cdc_lakehouse.routes import formats
from cdc_lakehouse.runtime import progress

RUNNING = (PROJECT / "docs" / "running.md").read_text()
COMMANDS = PROJECT / "src" / "cdc_lakehouse" / "console" / "commands"


def parsers(parser, name=()):
    """Return the parser of each command that runs something, by the words that call it."""
    found = {name: parser} if parser.get_default("run") else {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                found |= parsers(inner, (*name, word))
    return found


FOUND = parsers(cli._parser())


def work(seconds, **what):
    """Let work take so long of which 1 % is done every hundredth of the time; return its counts."""
    began = time.monotonic()
    with progress.showing(look=lambda: int(1e8 * (time.monotonic() - began) / seconds), **what):
        time.sleep(seconds)
        progress.say("a file was refused")


def test_a_terminal_has_one_line_that_is_rewritten(monkeypatch):
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.05)
    with terminal_as_stderr(monkeypatch) as terminal:
        work(1, what="reads files", total=10**8, unit="bytes")
    *lines, said = filter(None, terminal.text.split(progress.ERASE))
    shape = r"lakehouse: reads files: [0-9.]+ of 100\.0 MB, [0-9.]+ MB/s(, [0-9]+ s left)?"
    assert len(lines) > 5
    assert all(re.fullmatch(shape, line) for line in lines), lines
    counts = [float(line.split()[3]) for line in lines]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    # What is said meanwhile has a line of its own, and nothing is left of the other.
    assert said == "lakehouse: a file was refused\r\n"
    assert terminal.text.endswith(progress.ERASE)


def test_without_a_terminal_there_is_a_line_now_and_then(monkeypatch, capsys):
    work(0.2, what="lands", total=10**8, unit="messages")
    assert capsys.readouterr().err == "lakehouse: a file was refused\n"
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.1)
    work(0.55, what="lands", total=10**8, unit="messages")
    *lines, said = capsys.readouterr().err.splitlines()
    assert len(lines) in (4, 5) and said == "lakehouse: a file was refused"
    shape = r"lakehouse: lands: [0-9,]+ of 100,000,000 messages, [0-9,]+ messages/s, [01] s left"
    assert all(re.fullmatch(shape, line) for line in lines), lines


def test_what_progress_fails_with_is_not_the_end_of_the_work(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.01)
    asked = []

    def look():
        asked.append(1)
        raise RuntimeError("Java has ended")

    with progress.showing("lands", 10, "messages", look):
        time.sleep(0.2)
    assert (len(asked), capsys.readouterr().err) == (1, "")


@pytest.mark.parametrize("words", FOUND, ids=" ".join)
def test_every_command_prints_json_if_asked(words):
    # Those of `serve SOURCE` are those of `serve`.
    assert "--json" in FOUND[words].format_help()
    assert ("serve",) in FOUND and len(FOUND) > 15


def test_an_option_of_serve_may_stand_before_its_source():
    for line in ("serve --json files x", "serve files x --json", "serve --json"):
        assert cli._parser().parse_args(line.split()).as_json, line
    assert not cli._parser().parse_args(["serve", "files", "x"]).as_json


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["ingest", "files", "--json"], "the following arguments are required: PATH"),
        (["ingest", "files", "nowhere", "--json"], "nowhere does not exist. Name a folder"),
        (["timings", "--json"], "No ingest, dbt run or dbt build has left its timings"),
    ],
)
def test_an_error_is_json_too(tmp_path, arguments, error):
    environment = os.environ | {"LAKEHOUSE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "cdc_lakehouse.console.cli", *arguments]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode == Exit.NOTHING
    document = json.loads(done.stdout)
    assert list(document) == ["error"] and error in document["error"]
    assert document["error"] in done.stderr  # for people


def test_who_does_not_ask_for_json_gets_the_usage_alone(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["ingest", "files"])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith("usage: lakehouse ingest files")
    assert err.endswith(
        "lakehouse ingest files: error: the following arguments are required: PATH\n"
    )


def test_what_others_print_stays_out_of_the_document(tmp_path):
    """dbt prints with Python, and Java to the file that it has inherited."""
    script = (
        "import os, sys\n"
        "from cdc_lakehouse.console.output import Output\n"
        "print('before')\n"
        "with Output(True).opened() as output:\n"
        "    print('from dbt'); os.system('echo from Java')\n"
        "    output.tell({'n': 2**63}, 'for people')\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    before, *document, after = done.stdout.splitlines()
    assert (before, json.loads("".join(document)), after) == ("before", {"n": 2**63}, "after")
    assert sorted(done.stderr.splitlines()) == ["for people", "from Java", "from dbt"]


def test_a_new_project_is_told_in_json(tmp_path, capsys):
    assert cli.main(["init", str(tmp_path / "shop"), "--json"]) == Exit.DONE
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["project"] == str(tmp_path / "shop")
    assert document["next"][-1] == "dbt build" and "is a dbt project now" in err


def test_the_table_of_exit_codes_is_that_of_the_code():
    rows = re.findall(r"^\| ([0-9]+) \|", RUNNING, re.MULTILINE)
    assert [int(code) for code in rows] == sorted({code.value for code in Exit})
    assert "| exit code |" in RUNNING
    codes = {"DONE": 0, "IN_PART": 1, "FINDINGS": 1, "NOTHING": 2}
    codes |= {"INTERRUPTED": 130, "BROKEN_PIPE": 141}
    assert {name: code.value for name, code in Exit.__members__.items()} == codes


def test_commands_end_with_codes_of_the_table_alone():
    """Each function that a parser names as `run` returns what it calls an Exit."""
    for path in COMMANDS.glob("*.py"):
        tree = ast.parse(path.read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        named = re.findall(r"set_defaults\(run=(\w+)", path.read_text())
        for name in named:
            assert ast.unparse(functions[name].returns) == "Exit", f"{path.name}: {name}"
            for node in ast.walk(functions[name]):
                if isinstance(node, ast.Return):
                    assert not isinstance(node.value, ast.Constant), f"{path.name}: {name}"


def overview(topics, tables, name="name", problems=()):
    return Overview(
        10**8,
        2 * 10**8,
        [Topic(f"{name}.{n}", 10**7, 10**6, "2026-11-11 08:00:00") for n in range(topics)],
        [
            GoldTable(f"gold.{name}_{n}", 10**8, "2026-11-11 08:00:00")
            for n in range(min(tables, 14))
        ],
        tables,
        list(problems),
    )


@pytest.mark.parametrize(
    ("topics", "tables"), [(0, 0), (1, 1), (8, 5), (14, 0), (500, 2), (3, 400), (500, 400)]
)
def test_a_first_look_fits_a_screen(monkeypatch, topics, tables):
    monkeypatch.setenv("COLUMNS", "80")
    text = overview(topics, tables, name="a.rather.long.name.of.some.database.and.table").text()
    lines = text.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    counts = [int(n.replace(",", "")) for n in re.findall(r"^and ([0-9,]+) more$", text, re.M)]
    names = len(re.findall(r"^(?:a|gold)\.(?:a\.)?rather", text, re.M))
    assert names + sum(counts) == topics + tables
    assert names >= min(12, topics + tables)


def test_what_to_type_next_is_three_commands(monkeypatch):
    for has_rejected in (True, False):
        steps = next_steps.next_steps("gold.orders", has_rejected)
        assert len(steps) == 3
        for step in steps:
            program, *arguments = shlex.split(step.partition(":")[2])
            assert program == next_steps.program()
            assert cli._parser().parse_args(arguments).run


def test_every_page_can_be_read_where_the_package_is_installed(capsys):
    assert cli.main(["help", "--json"]) == Exit.DONE
    listed = json.loads(capsys.readouterr().out)
    assert set(listed["pages"]) == {path.stem for path in (PROJECT / "docs").glob("*.md")}
    assert set(listed["formats"]) == set(formats(PROJECT))
    for name in ("protection", "protection.md", "docs/protection.md"):
        assert cli.main(["help", name]) == Exit.DONE
        assert capsys.readouterr().out.startswith("# Protecting columns\n")
    assert cli.main(["help", "canal"]) == Exit.DONE
    assert capsys.readouterr().out.startswith("**Written by** [Canal]")  # without dbt's marks
    assert cli.main(["help", "protecton"]) == Exit.NOTHING
    said = "There is no page protecton. Did you mean protection? `lakehouse help` lists all."
    assert capsys.readouterr().err == f"lakehouse: {said}\n"
    assert cli.main(["help", "hist"]) == Exit.NOTHING
    assert "Did you mean history or " in capsys.readouterr().err
    # A command without a page says what its --help says, and the name of before still works.
    assert cli.main(["help", "wait"]) == Exit.DONE
    assert capsys.readouterr().out.startswith("usage: lakehouse wait ")
    assert cli.main(["docs", "gold"]) == Exit.DONE
    assert capsys.readouterr().out.startswith("# Gold models\n")


def test_the_pages_are_listed_by_task(capsys):
    assert cli.main(["help"]) == Exit.DONE
    listed = capsys.readouterr().out
    tasks = ["Start", "Land", "Read silver", "Model gold", "Operate", "Reference"]
    assert re.findall(r"^(\w.*):$", listed, re.MULTILINE) == tasks
    assert "Model gold:\n  gold            Gold models\n" in listed


def test_a_page_is_shown_by_the_pager_at_a_terminal_alone():
    command = [sys.executable, "-m", "cdc_lakehouse.console.cli", "help", "gold"]
    environment = os.environ | {"PAGER": "sed s/^/page:/", "TERM": "xterm"}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.startswith("# Gold models\n")
    terminal = Terminal()
    ends = {"stdin": terminal.slave, "stdout": terminal.slave}
    subprocess.run(command, env=environment, **ends, check=True)
    terminal.close()
    assert terminal.text.startswith("page:# Gold models\r\npage:\r\n")


def test_the_program_is_named_as_the_shell_finds_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "lakehouse"), "show"])
    monkeypatch.setattr(next_steps, "STARTED_IN", tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert next_steps.program() == ".venv/bin/lakehouse"  # as of `make run`
    monkeypatch.setattr(next_steps, "STARTED_IN", tmp_path / "elsewhere")
    assert next_steps.program() == str(tmp_path / ".venv" / "bin" / "lakehouse")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    assert next_steps.program() == "lakehouse"
