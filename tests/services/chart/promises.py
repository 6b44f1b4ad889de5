"""What the tools of the chart service promise."""

from __future__ import annotations

from tests.promises import Promise, ServicePromises

SERIES = [
    {"name": f"{number} " + "이" * 190, "data": [{"label": "라" * 200, "value": number}] * 50} for number in range(20)
]

PROMISES = ServicePromises(
    {
        "visualize_data": Promise(
            "read",
            {"type": "bar", "data": [{"label": "하나", "value": 1}, {"label": "Two", "value": 2.5}]},
            largest={"type": "line", "title": "제" * 200, "series": SERIES},
            shows_page=True,
        ),
    }
)
