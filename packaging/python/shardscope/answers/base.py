# SPDX-License-Identifier: Apache-2.0
"""How JSON becomes typed objects."""

import dataclasses
import typing
from typing import Any, Dict, Mapping, Type, TypeVar

T = TypeVar("T", bound="Answer")

_NOT_FINITE = ("nan", "inf", "-inf")


class Answer:
    """One JSON object of the program. `raw` is that object, with fields that this version does not know."""

    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls: Type[T], data: Mapping[str, Any]) -> T:
        """Raises KeyError if a field that every version writes is missing."""
        hints = _hints(cls)
        values: Dict[str, Any] = {}
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            if field.name in data:
                values[field.name] = _typed(hints[field.name], data[field.name])
            elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                raise KeyError(field.name)
        answer = cls(**values)
        object.__setattr__(answer, "raw", data)
        return answer


_known_hints: Dict[type, Dict[str, Any]] = {}


def _hints(cls: type) -> Dict[str, Any]:
    if cls not in _known_hints:
        _known_hints[cls] = typing.get_type_hints(cls)
    return _known_hints[cls]


def _typed(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Union:  # Optional
        return _typed(next(one for one in arguments if one is not type(None)), value)
    if origin is list:
        return [_typed(arguments[0], item) for item in value]
    if origin is dict:
        return {key: _typed(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, Answer):
        return hint.from_json(value)
    if hint is float and (value in _NOT_FINITE or isinstance(value, int)):
        return float(value)
    return value
