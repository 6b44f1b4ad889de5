"""The message catalogue: English templates, and their Korean counterparts from `locale/`."""

from __future__ import annotations

from functools import cache
from gettext import GNUTranslations
from pathlib import Path

from madang.core.calls import Locale
from madang.core.phrases import Translate

LOCALE_FOLDER = Path(__file__).parent.parent / "locale"


@cache
def translator(locale: Locale) -> Translate:
    """Return the look-up of one locale. English is written in the code, so its look-up is the identity."""
    if locale == "en":
        return lambda template: template
    with (LOCALE_FOLDER / locale / "LC_MESSAGES" / "madang.mo").open("rb") as file:
        translations = GNUTranslations(file)
    # The empty template would be looked up as the header of the file.
    return lambda template: template and translations.gettext(template)
