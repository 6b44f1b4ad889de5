"""Models by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr, ValidationError

from madang.core.errors import SetupError
from madang.core.model_config import ModelConfig
from madang.llm import keys as keys_module
from madang.llm import vendors
from madang.llm.base import ModelOptions, Usage
from madang.llm.keys import KeyStore
from madang.llm.opening import Prices, open_model
from madang.settings import read_settings
from tests.llm.adapters import collect
from tests.model_server import ModelServer, answers, refuses
from tests.model_wires import Say


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyStore:
    monkeypatch.setattr(keys_module, "_keyring", lambda: None)
    return KeyStore(tmp_path, {"ANTHROPIC_API_KEY": "sk-a", "MY_KEY": "sk-mine", "GATE": "gate-secret"})


async def test_a_server_by_its_address(server: ModelServer, keys: KeyStore) -> None:
    server.plays(answers(Say("Yes.")))
    opened = open_model(f"{server.url}/v1#qwen3:8b", {}, keys)

    _, answer = await collect(opened.model)

    assert answer.text == "Yes."
    assert server.requests[0].body["model"] == "qwen3:8b"
    assert "authorization" not in server.requests[0].headers
    assert opened.model.label == f"{server.url}/v1#qwen3:8b"
    await opened.model.close()


async def test_a_name_of_the_config_file(server: ModelServer, keys: KeyStore, tmp_path: Path) -> None:
    server.plays(answers(Say("Yes.")))
    (tmp_path / "config.toml").write_text(
        f"""
        model = "quick"

        [models.quick]
        url = "{server.url}/v1"
        model = "qwen3"
        key = "env:MY_KEY"
        headers = {{ x-gate = "env:GATE", x-plain = "yes" }}
        temperature = 0.2
        max_output_tokens = 500
        body = {{ seed = 7 }}
        window_tokens = 32000
        input_price = 1.0
        output_price = 4.0
        """,
        encoding="utf-8",
    )
    settings = read_settings({}, data_dir=str(tmp_path))

    opened = open_model(settings.default_model, settings.models, keys)
    await collect(opened.model)

    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-gate"], headers["x-plain"]) == ("Bearer sk-mine", "gate-secret", "yes")
    assert opened.options == ModelOptions(0.2, None, 500, None, None, {"seed": 7})
    assert (opened.prices, opened.window_tokens) == (Prices(1.0, 4.0), 32_000)
    assert opened.model.label == "quick"
    await opened.model.close()


def test_a_vendor_by_its_name(keys: KeyStore) -> None:
    opened = open_model("anthropic:claude", {}, keys)

    assert (opened.model.provider, opened.model.name, opened.model.label) == ("anthropic", "claude", "anthropic:claude")


def test_a_vendor_without_a_key_says_which_variable(keys: KeyStore) -> None:
    with pytest.raises(SetupError, match="need a key") as caught:
        open_model("google:gemini", {}, keys)

    assert "GOOGLE_API_KEY" in str(caught.value.hint)


def test_both_apis_of_openai_have_one_key(keys: KeyStore) -> None:
    keys.save("openai", SecretStr("sk-o"))

    assert open_model("openai:gpt", {}, keys).model.provider == "openai"
    assert open_model("openai-responses:gpt", {}, keys).model.provider == "openai-responses"


@pytest.mark.parametrize(
    ("provider", "path", "header"),
    [
        ("anthropic", "/v1/messages", "x-api-key"),
        ("openai", "/v1/chat/completions", "authorization"),
        ("google", "/v1beta/openai/chat/completions", "authorization"),
    ],
)
async def test_a_vendor_is_spoken_to_without_any_extra(
    server: ModelServer, keys: KeyStore, monkeypatch: pytest.MonkeyPatch, provider: str, path: str, header: str
) -> None:
    monkeypatch.setattr(vendors, "find_spec", lambda name: None)
    at_home = vendors.VENDORS[provider]
    here = server.url + urlsplit(at_home.url).path
    monkeypatch.setitem(vendors.VENDORS, provider, replace(at_home, url=here))
    keys.save(provider, SecretStr("sk-of-the-person"))
    server.plays(answers(Say("Yes.")))
    opened = open_model(f"{provider}:some-model", {}, keys)

    _, answer = await collect(opened.model)

    (request,) = server.requests
    assert answer.text == "Yes."
    assert request.path == path
    assert request.body["model"] == "some-model"
    assert "sk-" in request.headers[header]
    await opened.model.close()


async def test_openai_is_told_to_keep_nothing_and_a_server_that_knows_no_such_field_is_not(
    server: ModelServer, keys: KeyStore
) -> None:
    server.plays(refuses(400, "Unrecognized request argument supplied: store"), answers(Say("Yes.")))
    config = ModelConfig(provider="openai", model="gpt", url=f"{server.url}/v1")
    opened = open_model("mine", {"mine": config}, keys)

    await collect(opened.model)

    first, second = (request.body for request in server.requests)
    assert first["store"] is False
    assert "store" not in second
    await opened.model.close()


async def test_a_server_elsewhere_that_speaks_a_vendors_api_may_want_no_key(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_module, "_keyring", lambda: None)
    server.plays(answers(Say("Yes.")))
    config = ModelConfig(provider="anthropic", model="qwen3", url=f"{server.url}/v1/messages")
    opened = open_model("local", {"local": config}, KeyStore(tmp_path, {}))

    _, answer = await collect(opened.model)

    assert answer.text == "Yes."
    assert server.requests[0].path == "/v1/messages"
    assert "x-api-key" not in server.requests[0].headers
    await opened.model.close()


@pytest.mark.parametrize("provider", [name for name, vendor in vendors.VENDORS.items() if vendor.extra])
def test_a_vendor_that_is_not_installed_says_what_to_install(
    keys: KeyStore, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setattr(vendors, "find_spec", lambda name: None)

    with pytest.raises(SetupError, match="not installed") as caught:
        open_model(f"{provider}:x", {}, keys)

    assert "pip install 'madang[" in str(caught.value.hint)


async def test_a_script_by_its_file(keys: KeyStore, tmp_path: Path) -> None:
    (tmp_path / "tour.yaml").write_text("- Hello.", encoding="utf-8")

    _, answer = await collect(open_model(f"scripted:{tmp_path / 'tour.yaml'}", {}, keys).model)

    assert "Hello." in answer.text


@pytest.mark.parametrize("name", ["", "gpt", "openai:", "cooking:x", "http://127.0.0.1:1/v1", "scripted:", "ftp://x#y"])
def test_a_name_that_no_model_has(keys: KeyStore, name: str) -> None:
    with pytest.raises(SetupError):
        open_model(name, {}, keys)


def test_a_slip_in_a_name_is_pointed_out(keys: KeyStore) -> None:
    configs = {"quick": ModelConfig(url="http://127.0.0.1:1", model="x")}

    with pytest.raises(SetupError) as caught:
        open_model("qiuck", configs, keys)

    assert "quick" in str(caught.value.hint)


def test_a_key_that_is_missing_is_told_by_its_place(keys: KeyStore) -> None:
    configs = {"quick": ModelConfig(url="http://127.0.0.1:1", model="x", key="env:NONE")}

    with pytest.raises(SetupError, match="env:NONE"):
        open_model("quick", configs, keys)


def test_a_provider_that_there_is_not(keys: KeyStore) -> None:
    with pytest.raises(SetupError, match="no provider 'cooking'"):
        open_model("x", {"x": ModelConfig(provider="cooking", model="x")}, keys)


def test_prices_may_stand_in_a_table_of_their_own() -> None:
    prices = {"input": 3, "cached": 0.3, "cache_write": 3.75, "output": 15}
    config = ModelConfig.model_validate({"url": "http://x", "model": "x", "prices": prices})

    assert (config.input_price, config.cached_price, config.cache_write_price, config.output_price) == (
        3,
        0.3,
        3.75,
        15,
    )
    with pytest.raises(ValidationError):
        ModelConfig.model_validate({"url": "http://x", "model": "x", "prices": {"colour": 1}})


@pytest.mark.parametrize(
    "values",
    [{"model": "x"}, {"url": "http://x"}, {"url": "http://x", "model": "x", "temperature": 9}, {"colour": "red"}],
)
def test_a_model_that_is_not_complete_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ModelConfig.model_validate(values)


def test_the_config_file_is_named_when_a_model_in_it_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[models.quick]\nmodel = "x"\n', encoding="utf-8")

    with pytest.raises(SetupError, match=r"config\.toml cannot be used: models\.quick: .*must have a url"):
        read_settings({}, data_dir=str(tmp_path))


def test_the_variable_wins_over_the_config_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('model = "quick"\n', encoding="utf-8")

    assert read_settings({"MADANG_MODEL": "other"}, data_dir=str(tmp_path)).model == "other"


@pytest.mark.parametrize(
    ("prices", "usage", "cost"),
    [
        (Prices(1, 4), Usage(1_000_000, 0, 500_000), 3.0),
        (Prices(1, 4, 0.1), Usage(1_000_000, 500_000, 0), 0.55),
        (Prices(3, 15, 0.3, 3.75), Usage(25_100, 20_000, 20, cache_write_tokens=5_000), 0.02535),
        (Prices(3, 15, 0.3), Usage(25_100, 20_000, 20, cache_write_tokens=5_000), 0.0216),
        (Prices(1, 4), Usage(None, None, 5), None),
    ],
)
def test_what_an_answer_costs(prices: Prices, usage: Usage, cost: float | None) -> None:
    assert prices.cost(usage) == (None if cost is None else pytest.approx(cost))
