"""Texts and names as Spark SQL takes them."""


def quoted(text: str) -> str:
    """Return `text` as a string literal of Spark SQL.

    Spark takes `${...}` for a variable even there, so no `{` stands in it as such.
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("{", "\\u007b") + "'"


def identifier(name: str) -> str:
    """Return a name as SQL takes it whatever it consists of, in backticks."""
    return "`" + name.replace("`", "``") + "`"
