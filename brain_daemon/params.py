"""Request parameters: a map from the wire becomes a typed, checked msgspec Struct. A leaf.

The Struct is the only description of what an operation accepts; the messages of `BadRequest`
are derived from it.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from brain_daemon.errors import BadRequest

T = TypeVar("T", bound=msgspec.Struct)

_PATH = re.compile(r" - at `\$([^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(.*)`")
_MISSING = re.compile(r"missing required field `(.*)`")
_STEP = re.compile(r"([^.\[\]]+)(?![^\[]*\])|\[(\d+)\]")
_CONTAINERS = (inspect.StructType, inspect.ListType, inspect.VarTupleType)
_SHOWN_CHARS = 80


def decode(params: object, type: type[T]) -> T:
    """Convert a parameter map, strictly: a bool is not an int, a string is not a number.

    Parameters
    ----------
    params : object
        What the request carried; anything but a map with string keys is refused.
    type : msgspec.Struct subclass
        Declared with ``forbid_unknown_fields=True``.

    Raises
    ------
    BadRequest
        Its message and detail name the field, the value and what is accepted.
    """
    try:
        return msgspec.convert(params, type)
    except msgspec.ValidationError as error:
        raise _bad_request(str(error), params, type) from None


def _bad_request(message: str, params: object, type: type[msgspec.Struct]) -> BadRequest:
    if not isinstance(params, dict):
        return BadRequest(
            f"the parameters are {_shown(params)}; give one map with the keys "
            f"{', '.join(_accepted_fields(type))}"
        )
    path = _PATH.search(message)
    field = path[1].removeprefix(".") if path else ""
    message = message[: path.start()] if path else message
    holder, value = _follow(field, type, params)
    if unknown := _UNKNOWN.search(message):
        known = _accepted_fields(_opened(holder).cls)
        name = ".".join(filter(None, (field, unknown[1])))[:_SHOWN_CHARS]
        return BadRequest(
            f"unknown parameter {name!r}; accepted are {', '.join(known)}",
            field=name,
            accepted=list(known),
        )
    if missing := _MISSING.search(message):
        known = _accepted_fields(_opened(holder).cls)
        name = ".".join(filter(None, (field, missing[1])))
        return BadRequest(
            f"the parameter {name} is missing; give {known.get(missing[1], 'it')}", field=name
        )
    accepted = _accepted_fields(type)
    if re.split(r"[.\[]", field, maxsplit=1)[0] not in accepted:
        strange = [key for key in params if not isinstance(key, str)]
        return BadRequest(
            f"parameter names are strings, one of {', '.join(accepted)}; got {_shown(strange)}"
        )
    shown = _shown(value)
    wanted = _describe(holder)
    return BadRequest(
        f"{field} is not accepted: it is {shown}; give {wanted}",
        field=field,
        value=shown,
        accepted=wanted,
    )


def _follow(path: str, type: type[msgspec.Struct], params: Any) -> tuple[Any, Any]:
    """Go along ``lex.terms[0]``, as far as it can be followed; the type there, and the value."""
    info: Any = inspect.type_info(type)
    value = params
    for name, index in _STEP.findall(path):
        info = _opened(info)
        if name and isinstance(info, inspect.StructType):
            info = {field.encode_name: field.type for field in info.fields}.get(name, info)
            value = value.get(name)
        elif index and isinstance(info, inspect.ListType | inspect.VarTupleType):
            info = info.item_type
            value = value[int(index)]
        else:
            break
    return info, value


def _opened(info: Any) -> Any:
    """Give the one member of a union that holds others, as in ``list or None``."""
    members = getattr(info, "types", ())
    return next((member for member in members if isinstance(member, _CONTAINERS)), info)


def _shown(value: object) -> str:
    text = ""
    for piece in _pieces(value):  # a whole list of a hundred thousand would take too long
        text += piece
        if len(text) > _SHOWN_CHARS:
            return text[: _SHOWN_CHARS - 1] + "…"
    return text


def _pieces(value: object) -> Iterator[str]:
    """Give ``repr(value)`` bit by bit."""
    if isinstance(value, list):
        yield "["
        for i, item in enumerate(value):
            if i:
                yield ", "
            yield from _pieces(item)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for i, (key, item) in enumerate(value.items()):
            yield f", {_shown(key)}: " if i else f"{_shown(key)}: "
            yield from _pieces(item)
        yield "}"
    else:
        yield repr(value[:_SHOWN_CHARS] if isinstance(value, str | bytes) else value)


@cache
def _accepted_fields(type: type[msgspec.Struct]) -> dict[str, str]:
    info = inspect.type_info(type)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: _describe(field.type) for field in info.fields}


def _describe(info: Any) -> str:
    """Say in words what a type accepts."""
    match info:
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "nil"
        case inspect.IntType():
            return "an integer" + _range(info.ge, info.le)
        case inspect.FloatType():
            return "a number" + _range(info.ge, info.le)
        case inspect.StrType():
            return "a string" + _range(info.min_length, info.max_length, " characters")
        case inspect.LiteralType():
            return "one of " + ", ".join(repr(value) for value in info.values)
        case inspect.ListType() | inspect.VarTupleType():
            return f"a list{_range(info.min_length, info.max_length, ' items')}, each " + _describe(
                info.item_type
            )
        case inspect.DictType():
            return "a map"
        case inspect.StructType():
            return "a map with the keys " + ", ".join(field.encode_name for field in info.fields)
        case inspect.UnionType():
            return ", or ".join(_describe(member) for member in info.types)
        case _:
            return "another type"


def _range(low: float | None, high: float | None, unit: str = "") -> str:
    if low is not None and high is not None:
        return f" of {_number(low)} to {_number(high)}{unit}"
    if low is not None:
        return f" of at least {_number(low)}{unit}"
    if high is not None:
        return f" of at most {_number(high)}{unit}"
    return ""


def _number(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.15g}"
