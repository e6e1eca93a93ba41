"""The API reference, rendered from openapi.json: no script, nothing loaded from elsewhere. The server shows it as one
page, the documentation site as one for each group.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from keepstone.surfaces.web.html import page, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One of the API, with what it takes and answers as HTML."""

    group: str
    method: str
    path: str
    summary: str
    details: str


def reference(spec: dict[str, Any]) -> str:
    groups: dict[str, list[str]] = {}
    for one in operations(spec):
        groups.setdefault(one.group, []).append(
            f"<details><summary><span class=method>{text(one.method)}</span> <code>{text(one.path)}</code> "
            f'<span class="soft">{text(one.summary)}</span></summary>{one.details}</details>'
        )
    body = "".join(f"<h2>{text(group.capitalize())}</h2>{''.join(items)}" for group, items in groups.items())
    return page(
        "API",
        f"<h1>API reference</h1><p>{text(spec['info'].get('description', ''))}</p>"
        '<p class="soft">The same for programs: <a href="/openapi.json">openapi.json</a></p>' + body,
    )


def operations(spec: dict[str, Any]) -> list[Operation]:
    return [
        Operation(
            group=(operation.get("tags") or ["other"])[0],
            method=method.upper(),
            path=path,
            summary=operation.get("summary", ""),
            details=_details(spec, operation),
        )
        for path, methods in spec["paths"].items()
        for method, operation in methods.items()
    ]


def _details(spec: dict[str, Any], operation: dict[str, Any]) -> str:
    parts: list[str] = []
    rows = [
        (item["name"], item["in"], item.get("description", ""), item.get("required", False))
        for item in operation.get("parameters", [])
    ]
    if rows:
        cells = "".join(
            f"<tr><td><code>{text(name)}</code></td><td>{text(where)}{', required' if required else ''}</td>"
            f"<td>{_worded(what)}</td></tr>"
            for name, where, what, required in rows
        )
        parts.append(f"<table>{cells}</table>")
    sent = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if sent:
        parts.append(f"<p>Body</p><pre>{text(json.dumps(_sketch(spec, sent), indent=2))}</pre>")
    for status, response in operation.get("responses", {}).items():
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if status.startswith("2"):
            shown = f"<pre>{text(json.dumps(_sketch(spec, schema), indent=2))}</pre>" if schema else ""
            parts.append(f"<p>{text(status)} {text(response.get('description', ''))}</p>{shown}")
    return "".join(parts)


def _worded(description: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(description))


def _sketch(spec: dict[str, Any], schema: dict[str, Any]) -> Any:
    """What a value of this schema looks like: field names, with the type where a value would stand."""
    if "$ref" in schema:
        return _sketch(spec, spec["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]])
    if "anyOf" in schema:
        shapes: list[Any] = [_sketch(spec, option) for option in schema["anyOf"]]
        return " | ".join(shapes) if all(isinstance(shape, str) for shape in shapes) else shapes[0]
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return [_sketch(spec, schema.get("items", {}))]
    if "properties" in schema:
        return {name: _sketch(spec, item) for name, item in schema["properties"].items()}
    return schema.get("format") or schema.get("type", "any")
