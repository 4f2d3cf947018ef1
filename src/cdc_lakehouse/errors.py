"""The one exception whose text is meant for the person at the keyboard."""


class LakehouseError(Exception):
    """Something a user can act on: the text names the thing, what was found and what to do."""


def short_message(error: BaseException, limit: int = 1500) -> str:
    """Return what a Spark error and its causes say, without query plans and Java stacks."""
    texts, java = [], getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        texts.append(java.getMessage() or java.toString())
        java = java.getCause()
    lines: list[str] = []
    for text in texts or [str(error)]:
        for line in text.split("JVM stacktrace")[0].splitlines():
            if line.lstrip().startswith(("'", "+-", ":-", ": ", "at ")):
                break
            if line.strip() and line not in lines:
                lines.append(line)
    return "\n".join(lines)[:limit]
