"""The base beside Review.md: valid YAML of the documented schema, for any layout."""

from __future__ import annotations

import pytest
import yaml

from tars_memory.settings import LayoutOptions
from tars_memory.vault.layout import Layout
from tars_memory.vault.template import review_base

KEYS = {"filters", "formulas", "properties", "views"}
VIEW = {"type", "name", "filters", "order", "sort"}


@pytest.mark.parametrize("scope", ["", "boat"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"daily_folder": 'it\'s "daily": x #y', "sessions_folder": "Gespräche's [log]"},
        {"daily_format": "YYYY/DD.MM.YYYY", "daily_folder": "Tage"},
    ],
)
def test_a_base_is_what_obsidian_documents(scope: str, options: dict[str, str]) -> None:
    layout = Layout(LayoutOptions(**options), scope=scope)
    told = yaml.safe_load(review_base(layout))
    assert set(told) == KEYS and told["filters"] == {"and": ['file.ext == "md"']}
    days, sessions, memory = told["views"]
    assert [view["name"] for view in told["views"]] == ["Days", "Sessions", "Memory"]
    for view in told["views"]:
        assert set(view) == VIEW and view["type"] == "table"
        (statements,) = view["filters"].values()
        assert statements and all(isinstance(each, str) for each in statements)
        assert {column for column in view["order"] if column.startswith("formula.")} <= {
            f"formula.{name}" for name in told["formulas"]
        }
    prefix = "projects/boat/" if scope else ""
    assert memory["filters"]["or"][0] == f'file.path == "{prefix}Memory.md"'
    assert sessions["filters"]["and"] == [f'file.inFolder("{prefix}{options.get("sessions_folder", "sessions")}")']
    folder = options.get("daily_folder", "").replace('"', '\\"')
    wanted = [f'file.inFolder("{prefix}{folder}")'] if folder else []
    wanted += ["/^\\d{4}-\\d{2}-\\d{2}$/.matches(file.basename)"] if "daily_format" not in options else []
    assert [each for each in days["filters"]["and"] if "projects" not in each or scope][: len(wanted)] == wanted
    assert ('!file.inFolder("projects")' in days["filters"]["and"]) == (not scope)
