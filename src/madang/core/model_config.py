"""What `config.toml` says of a language model: how it is reached and what it is asked with. It holds no secret."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from madang.core.documents import Document


class ModelConfig(Document):
    """A model under a name of the person's own. `key` says where a secret is: `env:NAME` or `keyring:NAME`.

    So may the values of headers and the proxy.
    """

    url: str = ""
    """The address of an OpenAI-compatible server, or of a vendor's API elsewhere."""
    provider: str = ""
    model: str
    key: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    proxy: str = ""
    ca_file: str = ""
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    thinking: Literal["off", "low", "medium", "high"] | None = None
    body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of a request, as the server has them."""
    window_tokens: int | None = Field(default=None, ge=1000)
    """How much the model can read at once."""
    first_event_s: float | None = Field(default=None, gt=0, le=3600)
    idle_s: float | None = Field(default=None, gt=0, le=3600)
    input_price: float | None = Field(default=None, ge=0)
    """Prices are for a million tokens."""
    cached_price: float | None = Field(default=None, ge=0)
    """Of what a server has in its cache; by default that of other input."""
    cache_write_price: float | None = Field(default=None, ge=0)
    """Of what a server writes to its cache; by default that of other input."""
    output_price: float | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _with_prices(cls, values: Any) -> Any:
        """Take prices also from a table of their own: `[models.NAME.prices]` with `input`, `cache_write` and so on."""
        if not isinstance(values, dict) or not isinstance(values.get("prices"), dict):
            return values
        rest = {name: value for name, value in values.items() if name != "prices"}
        return rest | {f"{name}_price": value for name, value in values["prices"].items()}

    @model_validator(mode="after")
    def _has_a_server(self) -> ModelConfig:
        if not self.url and not self.provider:
            raise PydanticCustomError("server", "must have a url or a provider")
        return self
