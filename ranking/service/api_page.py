"""The description of the API as a page shows it, from its OpenAPI schema."""

import json
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field of a request or an answer."""

    name: str
    kind: str
    about: str


class Operation(NamedTuple):
    """A method at a path."""

    method: str
    path: str
    about: str
    asked: list[Field]
    answered: list[Field]


def described(schema: dict[str, Any]) -> list[Operation]:
    """List the operations of an OpenAPI schema."""
    operations = []
    for path, methods in schema["paths"].items():
        for method, facts in methods.items():
            asked = _fields(facts.get("requestBody", {}), schema)
            answered = _fields(facts["responses"]["200"], schema)
            about = facts.get("description", "")
            operations.append(Operation(method.upper(), path, about, asked, answered))
    return operations


def _fields(holder: dict[str, Any], schema: dict[str, Any]) -> list[Field]:
    """List the fields of a body; none where it has no named type."""
    content = holder.get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" not in content:
        return []
    facts = schema["components"]["schemas"][_name(content)]
    fields = []
    for name, of_field in facts["properties"].items():
        about = of_field.get("description", "")
        if name in facts.get("required", ()):
            about = f"Required. {about}"
        elif of_field.get("default") not in (None, "", {}):
            about = f"{about} Default: {json.dumps(of_field['default'])}."
        fields.append(Field(name, _kind(of_field, schema), about.strip()))
    return fields


def _kind(facts: dict[str, Any], schema: dict[str, Any]) -> str:
    """Say in words which values a field has."""
    if "$ref" in facts:
        inner = schema["components"]["schemas"][_name(facts)]["properties"]
        return f"object: {', '.join(inner)}"
    if "anyOf" in facts:
        return " or ".join(_kind(each, schema) for each in facts["anyOf"])
    kind = facts.get("type", "any")
    return f"list of {_kind(facts['items'], schema)}" if kind == "array" else kind


def _name(facts: dict[str, Any]) -> str:
    return facts["$ref"].rpartition("/")[2]
