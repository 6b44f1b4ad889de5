"""English words that are spelled in several ways, or have irregular plurals: one form of each. Pure.

The forms only have to be the same for text and query.
"""

from __future__ import annotations

import re
from functools import cache

MIN_CHARS = 3

_IRREGULAR = {
    "analyses": "analysis",
    "appendices": "appendix",
    "axes": "axis",
    "calves": "calf",
    "children": "child",
    "crises": "crisis",
    "criteria": "criterion",
    "diagnoses": "diagnosis",
    "feet": "foot",
    "formulae": "formula",
    "geese": "goose",
    "grey": "gray",
    "greyish": "grayish",
    "halves": "half",
    "hypotheses": "hypothesis",
    "indices": "index",
    "knives": "knife",
    "lice": "louse",
    "loaves": "loaf",
    "matrices": "matrix",
    "men": "man",
    "mice": "mouse",
    "nuclei": "nucleus",
    "oxen": "ox",
    "parentheses": "parenthesis",
    "phenomena": "phenomenon",
    "radii": "radius",
    "shelves": "shelf",
    "syntheses": "synthesis",
    "teeth": "tooth",
    "theses": "thesis",
    "thieves": "thief",
    "tyre": "tire",
    "tyres": "tires",
    "vertices": "vertex",
    "wives": "wife",
    "wolves": "wolf",
    "women": "woman",
}
# The first that fits. Of -ize and -ise it is the second that stands for both: stems of the first lose it, so that
# organization would be organ.
_ENDINGS = (
    (r"(?<=[a-z]{3})iz(e|ed|es|er|ers|ing|ation|ations|ational)$", r"is\1"),
    (r"(?<=al)yz(e|ed|es|er|ers|ing)$", r"ys\1"),
    (
        r"^(arm|behavi|col|discol|dishon|endeav|fav|flav|harb|hon|hum|lab|misbehavi|neighb|od|rum|sav|splend|tum|val|vap"
        r"|vig)our",
        r"\1or",
    ),
    (r"^(cent|fib|lit|theat|calib|(?:centi|kilo|milli|nano)?met)re(s?)$", r"\1er\2"),
    (r"^centred$", r"centered"),
    (r"^(cancel|channel|fuel|label|level|marvel|model|panel|signal|travel|tunnel)l(ed|er|ers|ing|ings)$", r"\1\2"),
    (r"^(analog|catalog|dialog)ue(s?)$", r"\1\2"),
    (r"^(defen|licen|offen|preten)ce(s?)$", r"\1se\2"),
    (r"^(progra)mme(s?)$", r"\1m\2"),
    (r"^aero(plane)", r"air\1"),
    (r"^aluminium$", r"aluminum"),
)


# The patterns are not made at import: most sessions never search.
@cache
def _rules() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), form) for pattern, form in _ENDINGS]


@cache
def _any_rule() -> re.Pattern[str]:
    return re.compile("|".join(pattern for pattern, _ in _ENDINGS))


def one_form(word: str) -> str:
    """Return a word of ASCII letters in lower case in the form that stands for all its forms."""
    if len(word) < MIN_CHARS:
        return word
    if irregular := _IRREGULAR.get(word):
        return irregular
    if _any_rule().search(word):
        for pattern, form in _rules():
            replaced, count = pattern.subn(form, word)
            if count:
                return replaced
    return word
