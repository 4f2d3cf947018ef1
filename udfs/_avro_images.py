"""Row images of a decoded record: their columns, and what an update carries of them."""

from udfs._avro_refused import Refused, reason


def field_names(fields):
    """Return the columns that `fields` names, and refuse one that it names twice."""
    names = [field["name"] for field in fields]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("wrong_type", f"fields names the column {twice[:100]!r} more than once")
    return names


def check_length(image, names, part):
    """Refuse an image with more values than the table has columns."""
    if len(image) > len(names):
        detail = f"{part} has {len(image)} values for {len(names)} fields"
        raise Refused("wrong_type", detail)


def refused_column(error, name, part):
    """Return the refusal of an image whose column `name` raised `error`."""
    code, detail = error.args if isinstance(error, Refused) else ("wrong_type", reason(error))
    where = part if name is None else f"column {name[:100]!r} of {part}"
    return Refused(code, f"{where}: {detail}")


def completed(operation, names, before, before_is_complete, after, after_is_complete):
    """Return the after image of an update with what only the before image carries: all of its
    columns if that is complete, or if the update changed none of them."""
    if operation == "UPDATE" and after_is_complete is False and before_is_complete:
        return {name: after[name] if name in after else before[name] for name in names}, True
    if operation == "UPDATE" and after == {} and before:
        return dict(before), before_is_complete
    return after, after_is_complete
