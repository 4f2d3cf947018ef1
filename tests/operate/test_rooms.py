"""Where a rule may live: what each room of the code knows, and which others it may import."""

import ast
import re

from conftest import PROJECT

SRC = PROJECT / "src"
LONGEST = 300  # lines of a module
PACKAGE, ADAPTER, MACROS = "cdc_lakehouse", "dbt.adapters.lakehouse", "dbt.include.lakehouse"
# From low to high, each with what it knows. A room imports only from lower levels; rooms of one
# level know nothing of each other.
LEVELS = (
    {
        f"{PACKAGE}.errors": "the error whose text is for a person, and what Spark's errors say",
        f"{PACKAGE}.exits": "the exit codes of all commands",
        f"{PACKAGE}.package": "which dbt package projects of users get, and where it lies",
        f"{PACKAGE}.sql": "literals and names as Spark SQL takes them",
        MACROS: "where the adapter's macros lie",
        "udfs": "functions of bytes and texts that views ask",
    },
    {f"{PACKAGE}.seeds": "CSV files of seeds/, and what is said of one that cannot be read"},
    {
        f"{PACKAGE}.routes": "seeds/topics.csv: which topic carries which format",
        f"{PACKAGE}.storage": "files of a lakehouse, in a folder or in object storage",
    },
    {f"{PACKAGE}.protection": "seeds/protected_columns.csv: hashed, masked, dropped columns"},
    {f"{PACKAGE}.runtime": "paths, locks, settings and sessions of Spark, Java and its jars"},
    {f"{PACKAGE}.delta": "what only Delta knows: its log, its files, columns, the high-water mark"},
    {f"{PACKAGE}.bronze": "tables of the messages as they came, changes and removals of them"},
    {
        f"{PACKAGE}.ingest": "landing messages from files and Kafka, each once",
        f"{PACKAGE}.engine": "what a run reads, and how a model writes what it made of that",
    },
    {f"{PACKAGE}.gold": "source tables, their types, and the models that are there or are written"},
    {f"{PACKAGE}.report": "what is known of a lakehouse, what is beyond a limit, and the page"},
    {
        f"{PACKAGE}.operate": "what a person does with what has landed: replay, erase, expire",
        ADAPTER: "the dbt adapter: the engine, as macros ask it",
    },
    {f"{PACKAGE}.serve": "a process that stays: SQL for others, runs on a schedule, figures"},
    {
        f"{PACKAGE}.console": "the command line, and every text that it prints",
        "dbt.adapters.lakehouse_silver": "the dbt package of silver, for projects of users",
    },
)
ROOMS = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def modules():
    """The modules by their names."""
    paths = [*SRC.rglob("*.py"), *(PROJECT / "udfs").glob("*.py")]
    return {_name(path): path for path in paths}


def _name(path):
    parts = path.relative_to(SRC if path.is_relative_to(SRC) else PROJECT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(text, known):
    """The modules of the project that a module's text imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name their module in full"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & known
            if names - known:  # names in the module itself
                found.add(node.module)
    return found & known


def graph():
    found = modules()
    return {name: imported(path.read_text(), found.keys()) for name, path in found.items()}


def room_of(module):
    """The room of a module; that of a package that holds rooms is none."""
    return next((room for room in ROOMS if f"{module}.".startswith(f"{room}.")), None)


def ring(imports):
    """Modules that import each other in a ring, None if none do."""
    done = set()

    def search(module, path):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        rings = (search(other, [*path, module]) for other in sorted(imports[module]))
        found = next(filter(None, rings), None)
        done.add(module)
        return found

    return next(filter(None, (search(module, []) for module in sorted(imports))), None)


def upward(imports):
    """The imports that do not lead to a lower room, nor stay in their own."""
    return [
        f"{module} imports {other}"
        for module, others in sorted(imports.items())
        for other in sorted(others)
        if room_of(module) != room_of(other) and not ROOMS[room_of(other)] < ROOMS[room_of(module)]
    ]


def test_every_module_is_in_a_room():
    homeless = {name for name in modules() if room_of(name) is None}
    assert homeless == {PACKAGE}
    assert modules()[PACKAGE].read_text().count("\n") == 1  # it imports nothing
    assert {room_of(name) for name in modules()} == {*ROOMS, None}


def test_modules_are_short():
    lines = {name: path.read_text().count("\n") for name, path in modules().items()}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_no_module_imports_itself_by_way_of_others():
    assert ring(graph()) is None


def test_imports_lead_to_lower_rooms():
    assert upward(graph()) == []


def test_only_delta_knows_where_a_log_lies_and_what_its_objects_are():
    asks = re.compile(r"_delta_log|\bDeltaLog\b|\bdeltaLog\(\)|\.(numOfFiles|sizeInBytes)\(\)")
    asking = {
        room_of(name)
        for name, path in modules().items()
        if name.startswith(PACKAGE) and asks.search(path.read_text())
    }
    # errors reads the path in what Delta says of a damaged log.
    assert asking == {f"{PACKAGE}.delta", f"{PACKAGE}.errors"}


def test_what_is_forbidden_is_found():
    low, high, beside = (f"{PACKAGE}.{name}" for name in ("delta.log", "gold.names", "engine.plan"))
    known = {low, high, beside, f"{PACKAGE}.gold", "udfs.ddl"}
    text = f"import json\ndef f():\n    from {PACKAGE}.gold import names, other\nimport udfs.ddl"
    assert imported(text, known) == {high, f"{PACKAGE}.gold", "udfs.ddl"}
    assert imported(f"from {low} import snapshot", known) == {low}
    assert ring({low: {beside}, beside: {high}, high: {beside}}) == [beside, high, beside]
    assert ring({low: set(), beside: {low}, high: {beside, low}}) is None
    assert upward({low: {high}, high: {low}, beside: {high, low}}) == [
        f"{low} imports {high}",
        f"{beside} imports {high}",
    ]
