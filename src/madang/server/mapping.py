"""Maps our tools, replies, resources and pages to MCP's wire format. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from madang.core.calls import Call, PageMode
from madang.core.ids import new_id
from madang.core.resources import Resource, ResourceTemplate
from madang.core.results import ALT_KEY, PAUSE_KEY, Image, Link, Reply, ShownPage, page_uri
from madang.core.tools import AUDIENCE_KEY, Tool
from madang.rendering.replies import document

UI_EXTENSION = "io.modelcontextprotocol/ui"
SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
APP_MIME_TYPE = "text/html;profile=mcp-app"
FRAGMENT_KEY = "madang/html"
SERVICE_INFO_KEY = "serviceInfo"
"""Where a page says which tool it comes from: an embedded one in its resource, a linked one in the result."""
LIST_TTL_MS = 60_000


def listed_tool(tool: Tool, pages: PageMode, *, with_data: bool = True) -> dict[str, Any]:
    """Return a tool as `tools/list` shows it to a client with these pages.

    Without data no output schema is listed: clients refuse a result without structured content where there is one.
    """
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        # Arguments are an object, also where another server's schema does not say so: one without it fails the list.
        "inputSchema": {**tool.input_schema, "type": "object"},
        "annotations": {
            "readOnlyHint": tool.effect == "read",
            "destructiveHint": tool.effect == "destroy",
            "idempotentHint": tool.idempotent,
            "openWorldHint": tool.open_world,
        },
    }
    if with_data and tool.output_schema is not None:
        entry["outputSchema"] = _result_or_error(tool.output_schema)
    if pages == "linked":
        ui: dict[str, Any] = {}
        if tool.page:
            ui["resourceUri"] = page_uri(tool.page)
        if tool.audience == "person":
            ui["visibility"] = ["app"]
        if ui:
            entry["_meta"] = {"ui": ui}
            if tool.page:
                # The flat key is the older spelling; some hosts read only that one.
                entry["_meta"]["ui/resourceUri"] = ui["resourceUri"]
    elif tool.audience == "person":
        entry["_meta"] = {AUDIENCE_KEY: tool.audience}
    return entry


def _result_or_error(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's results, loosened so that an error validates too.

    Clients on the older TypeScript SDK validate errors against it as well, and tell their model of the mismatch instead
    of what went wrong. No `anyOf` of the two: several clients refuse it.
    """
    loosened = {key: value for key, value in schema.items() if key != "required"}
    return {**loosened, "type": "object", "properties": {**loosened.get("properties", {}), "error": {"type": "object"}}}


def arguments_of(tool: Tool) -> str:
    """Return the names of a tool's arguments for a page that calls it; optional ones end in `?`."""
    required = tool.input_schema.get("required", ())
    return " ".join(name if name in required else f"{name}?" for name in tool.input_schema.get("properties", {}))


def listed_tools(tools: Iterable[Tool], pages: PageMode, *, with_data: bool = True) -> list[dict[str, Any]]:
    """Return the tools that this client lists.

    Tools for the person are hidden from the model wherever the page with their buttons can be shown: a client of linked
    pages hides them by their `visibility`, and one of embedded pages calls them without having listed them. Where there
    are no pages, the model itself tells what the person answered, and has nothing to do with the other buttons.
    """
    listed = [
        tool
        for tool in tools
        if tool.audience == "model" or pages == "linked" or (pages == "off" and tool.answers_pause)
    ]
    return [listed_tool(tool, pages, with_data=with_data) for tool in listed]


def renamed(reply: Reply, tool: str) -> Reply:
    """Return the reply of one tool as that of another: the outcome of an elicitation answers the call that asked."""
    return replace(reply, tool=tool, text=f"[{tool}]" + reply.text.removeprefix(f"[{reply.tool}]"))


def call_result(reply: Reply, *, with_data: bool = True) -> dict[str, Any]:
    """Return a reply as a `CallToolResult`, with or without structured content."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}]
    meta: dict[str, Any] = {}
    if reply.pause is not None:
        meta[PAUSE_KEY] = {"kind": reply.pause}
    if reply.page is not None:
        if reply.page.document:
            content.append(_embedded(reply, reply.page))
        else:
            meta[FRAGMENT_KEY] = reply.page.fragment
    elif reply.refill:
        meta[FRAGMENT_KEY] = reply.refill
    if FRAGMENT_KEY in meta:
        meta[SERVICE_INFO_KEY] = _service_info(reply)
    content += [_image(image) for image in reply.images]
    content += [_link(link) for link in reply.links]
    result: dict[str, Any] = {"resultType": "complete", "content": content, "isError": reply.is_error}
    if with_data:
        result["structuredContent"] = reply.data
    if meta:
        result["_meta"] = meta
    return result


def cacheable(result: dict[str, Any], cursor: str = "", *, ttl_ms: int = LIST_TTL_MS) -> dict[str, Any]:
    """Return a list or document with its cache hints; it is private to the client that asked."""
    next_page = {"nextCursor": cursor} if cursor else {}
    return {"resultType": "complete", "ttlMs": ttl_ms, "cacheScope": "private", **result, **next_page}


def listed_resource(resource: Resource) -> dict[str, Any]:
    """Return a resource as `resources/list` shows it."""
    entry: dict[str, Any] = {
        "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "mimeType": resource.mime_type,
    }
    if "description" in resource.frontmatter:
        entry["description"] = resource.frontmatter["description"]
    if resource.size is not None:
        entry["size"] = resource.size
    return entry


def resource_contents(resource: Resource, call: Call) -> dict[str, Any]:
    """Return a resource as `resources/read` gives it."""
    if isinstance(resource.body, bytes):
        return file_contents(resource, resource.body)
    return {"uri": resource.uri, "mimeType": resource.mime_type, "text": document(resource, call)}


def file_contents(resource: Resource, data: bytes) -> dict[str, Any]:
    """Return a file as `resources/read` gives it: always base64, so that every byte arrives as it was stored."""
    blob = base64.b64encode(data).decode("ascii")
    return {"uri": resource.uri, "mimeType": resource.mime_type, "blob": blob}


def listed_template(template: ResourceTemplate) -> dict[str, Any]:
    """Return a URI template as `resources/templates/list` shows it."""
    return {
        "uriTemplate": template.uri_template,
        "name": template.name,
        "title": template.title,
        "mimeType": template.mime_type,
    }


def skill_entry(resource: Resource, text: str) -> dict[str, Any]:
    """Return a skill as the Skills extension lists it: one file, with the digest a host verifies it by."""
    data = text.encode()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {
        "uri": resource.uri,
        "frontmatter": dict(resource.frontmatter),
        "resources": [{"uri": resource.uri, "digest": digest, "size": len(data)}],
    }


def page_tools(tools: Sequence[Tool]) -> dict[str, Tool | None]:
    """Return the names of all pages, each with the tool that refills it when a host replays it empty.

    That tool is read-only: one declared to refill the page, else one for the person, else the one that shows it.
    """
    names: dict[str, Tool | None] = {tool.page: None for tool in tools if tool.page}
    readers = [tool for tool in tools if tool.effect == "read"]
    names.update({tool.page: tool for tool in readers if tool.page and tool.audience == "model"})
    names.update({tool.page: tool for tool in readers if tool.page and tool.audience == "person"})
    names.update({page: tool for tool in readers for page in tool.refills})
    return names


def page_resource(name: str) -> dict[str, Any]:
    """Return a page as `resources/list` shows it."""
    return {"uri": page_uri(name), "name": name, "mimeType": APP_MIME_TYPE}


def page_contents(name: str, html: str) -> dict[str, Any]:
    """Return a page as `resources/read` gives it, with a policy that allows no network access."""
    ui = {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
    return {"uri": page_uri(name), "mimeType": APP_MIME_TYPE, "text": html, "_meta": {"ui": ui}}


def _link(link: Link) -> dict[str, Any]:
    part: dict[str, Any] = {
        "type": "resource_link",
        "uri": link.uri,
        "name": link.name,
        "title": link.title or link.name,
        "mimeType": link.mime_type,
    }
    if link.size is not None:
        part["size"] = link.size
    if link.description:
        part["description"] = link.description
    return part


def _image(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    part: dict[str, Any] = {"type": "image", "data": data, "mimeType": image.mime_type}
    if image.alt:
        part["_meta"] = {ALT_KEY: image.alt}
    return part


def _service_info(reply: Reply) -> dict[str, str]:
    return {"serverName": reply.service, "toolName": reply.tool, "backendType": "BuiltInWeb"}


def _embedded(reply: Reply, page: ShownPage) -> dict[str, Any]:
    return {
        "type": "resource",
        "resource": {
            # A URI per result: older hosts cache what they drew by it.
            "uri": f"{page_uri(page.name)}/{new_id()}",
            "mimeType": "text/html",
            "text": page.document,
            "_meta": {SERVICE_INFO_KEY: _service_info(reply)},
        },
        "annotations": {"audience": ["user"]},
    }
