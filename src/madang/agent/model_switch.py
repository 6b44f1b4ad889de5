"""Changing the model of a run that is not over: the person chooses another, or one whose server is away is left."""

from __future__ import annotations

from collections.abc import Sequence

from madang.agent import events
from madang.agent.stores import RunStores
from madang.core.calls import Locale
from madang.core.phrases import say
from madang.llm.errors import ModelError
from madang.llm.fallback import is_outage, join_models
from madang.records.runs.records import Run
from madang.rendering.catalogue import translator


async def choose_model(stores: RunStores, run: Run, model: str, locale: Locale) -> Run:
    """Let another model answer from the run's next request on, because the person says so; tell of it in the session.

    Raises:
        LostRun: the run was taken over or ended meanwhile.
    """
    text = say("From here on {model} answers.", model=model).render(translator(locale))
    return await stores.messages.set_model(run, model, events.model_switched(run.model, model, "", text))


async def fall_back(stores: RunStores, run: Run, models: Sequence[str], error: ModelError, locale: Locale) -> Run:
    """Let the next of a run's models answer, because the server of the first is away; what it began is dropped.

    It stays with the run: the one that was away is asked again by the next run.

    Raises:
        ModelError: the same, if there is no other model, or it is no outage.
        LostRun: the run is no longer this process's.
    """
    if len(models) < 2 or not is_outage(error):
        raise error
    before, *rest = models
    text = say("Switched to {model}, because {before} gave no answer.", model=rest[0], before=before)
    words = "\n".join(phrase.render(translator(locale)) for phrase in (text, error.message))
    told = events.model_switched(before, rest[0], error.code, words)
    return await stores.messages.set_model(run, join_models(rest), told, dropped=(run.turn + 1,))
