"""Changes to a copy of the project that let it read what the encoders write."""

import csv

from cdc_lakehouse.routes import COLUMNS, FURTHER_COLUMNS
from encoders import ENCODERS


def add_routes(project, prefix, formats, others=None):
    """Route the topics of each format, and further topics, and leave no table to gold."""
    topics = project / "seeds" / "topics.csv"
    with open(topics, newline="") as file:
        lines = list(csv.DictReader(file))
    lines += [{"topic": topic, "format": name} for topic, name in (others or {}).items()]
    for name in formats:
        encoder = ENCODERS[name]
        for topic, route in encoder.routes(prefix).items():
            lines.append({"topic": topic, "format": name, **route})
        if schema := encoder.route.get("avro_schema"):
            encoder.write_schemas(project / schema)
    with open(topics, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS + FURTHER_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    remove_gold(project)


def remove_gold(project):
    """Leave gold empty."""
    gold = project / "models" / "gold"
    for path in [*gold.glob("*/*"), gold / "gold_problems.sql", gold / "_gold.yml"]:
        path.unlink()
