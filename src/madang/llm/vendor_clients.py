"""The clients of vendors, made so that they retry nothing by themselves and use our connection. For `vendors` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from madang.llm.connection import Connection

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model


def build(provider: str, name: str, connection: Connection, client: httpx2.AsyncClient) -> Model:
    """Return pydantic-ai's model of a vendor. Everything is passed, so that no variable of the environment counts."""
    key = connection.key.get_secret_value() if connection.key is not None else "none"  # their clients want one
    headers = {name: value.get_secret_value() for name, value in connection.headers.items()}
    match provider:
        case "google-gemini":
            from google.genai import Client
            from google.genai.types import HttpOptions, HttpRetryOptions
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            options = HttpOptions(
                base_url=connection.url,
                headers=headers,
                httpx_async_client=client,
                retry_options=HttpRetryOptions(attempts=1),
            )
            return GoogleModel(
                name, provider=GoogleProvider(client=Client(vertexai=False, api_key=key, http_options=options))
            )
        case _:
            from openai import AsyncOpenAI
            from pydantic_ai.models.openai import OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider

            # Their own retries are neither seen nor cancelled.
            made = AsyncOpenAI(
                api_key=key, base_url=connection.url, max_retries=0, http_client=client, default_headers=headers
            )
            return OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=made))
