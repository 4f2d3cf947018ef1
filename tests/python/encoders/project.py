"""Changes to a copy of the project that let it read what the encoders write."""

from encoders import ENCODERS


def add_routes(project, prefix, formats):
    """Give each format a topic `<prefix>.<format>`, and no table to gold."""
    topics = project / "seeds" / "topics.csv"
    lines = [topics.read_text()]
    for name in formats:
        encoder = ENCODERS[name]
        zone, schema = (encoder.route.get(part, "") for part in ("time_zone", "avro_schema"))
        lines.append(f"{prefix}.{name},{name},{zone},{schema},,\n")
        if schema:
            encoder.write_schemas(project / schema)
    topics.write_text("".join(lines))
    remove_gold(project)


def remove_gold(project):
    """Leave gold empty."""
    gold = project / "models" / "gold"
    for path in [*gold.glob("*/*"), gold / "gold_problems.sql", gold / "_gold.yml"]:
        path.unlink()
