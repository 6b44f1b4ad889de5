"""What panels need beside the stream: which services have a state, and the rows of its lists that are too many for it.

The state itself comes with the event stream, and nothing here is asked for again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from madang.core.calls import LOCALES, Locale
from madang.core.schemas import state_schema
from madang.core.service import RowQuery
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.wire_panels import ServiceStateAnswer, ServiceStatesAnswer, StateRowsAnswer, StateRowsQuery
from madang.provider.provider import Provider
from madang.rendering.catalogue import translator


class PanelApi:
    """The operations on the states of services."""

    def __init__(self, calls: HostCalls, provider: Provider) -> None:
        self._calls = calls
        self._provider = provider

    def operations(self) -> list[Operation]:
        session = "/api/sessions/{id}"
        rows = f"{session}/state/{{service}}/{{list}}"
        return [
            Operation("GET", f"{session}/services", self.list_services, ServiceStatesAnswer),
            Operation("GET", rows, self.list_rows, StateRowsAnswer, query=StateRowsQuery),
        ]

    async def list_services(self, request: ApiRequest) -> ServiceStatesAnswer:
        """Return the services of a session's assistant, with the schema of what the stream tells of each."""
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        translate = translator(call.locale)
        return ServiceStatesAnswer(
            services=[
                ServiceStateAnswer(
                    name=service.metadata.name,
                    title=service.metadata.title.render(translate),
                    description=service.metadata.description.render(translate),
                    state_schema=_worded(state_schema(service.state_type), call.locale, translate),
                )
                for service in await self._provider.watched_services(call)
            ]
        )

    async def list_rows(self, request: ApiRequest) -> StateRowsAnswer:
        """Return one page of a list in a service's state: all of it, or what belongs to something in it."""
        query: StateRowsQuery = request.query
        call, _ = await self._calls.session_of(request.request, request.path("id"))
        wanted = RowQuery(request.path("list"), query.under, query.page, query.page_size)
        page = await self._provider.state_rows(call, request.path("service"), wanted)
        return StateRowsAnswer(rows=[row.model_dump(mode="json", by_alias=True) for row in page.rows], total=page.total)


def _worded(schema: Any, locale: Locale, translate: Callable[[str], str]) -> Any:
    """Return a schema with the titles and descriptions of its fields in a language.

    A field has its own words for it (`json_schema_extra={"ko": {"title": …}}`), or the catalogue has them.
    """
    if isinstance(schema, list):
        return [_worded(part, locale, translate) for part in schema]
    if not isinstance(schema, dict):
        return schema
    own = {language: schema[language] for language in LOCALES if isinstance(schema.get(language), dict)}
    worded = {key: _worded(value, locale, translate) for key, value in schema.items() if key not in own}
    for key in ("title", "description"):
        if isinstance(worded.get(key), str):
            worded[key] = own.get(locale, {}).get(key) or translate(worded[key])
    if "properties" in schema:
        # Their names are data: one may be called `ko`, or `title`.
        worded["properties"] = {name: _worded(one, locale, translate) for name, one in schema["properties"].items()}
    return worded
