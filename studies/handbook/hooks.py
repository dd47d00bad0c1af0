"""Called by MkDocs while it builds the site; named in mkdocs.yml."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from studies.handbook import architecture, docstrings, flows, formulas, reference

ROOT = Path(__file__).resolve().parents[2]
ICON = ROOT / "src" / "fabcost" / "service" / "dashboard" / "static" / "icon.svg"
# A warning ends a strict build.
log = logging.getLogger("mkdocs.handbook")


def files_made() -> dict[str, str]:
    """The text of every file that is made from the code or taken from the root, by its path."""
    return {
        "reference/http.md": reference.http(),
        "reference/commands.md": reference.commands(),
        "reference/settings.md": reference.settings(),
        "project/contributing.md": _of_the_root("CONTRIBUTING.md"),
        "project/changelog.md": _of_the_root("CHANGELOG.md"),
        "images/icon.svg": ICON.read_text(encoding="utf-8"),
    }


def pictures() -> dict[str, str]:
    """Pictures by the names with which pages ask for them: ``<!-- picture rooms -->``."""
    return {
        "rooms": architecture.picture(architecture.THE_WHOLE),
        "service": architecture.picture(architecture.THE_SERVICE),
        **{each.name: flows.picture(each) for each in flows.ALL},
    }


_SCROLLED = '<div class="scrolled" tabindex="0">'
_NAMED_SEARCH = ' data-md-component="search" role="dialog" aria-label="Search"'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated to what is written."""
    for path, text in files_made().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Say which documented name has no docstring; fill in the table of rooms."""
    for name in docstrings.missing(docstrings.documented(markdown)):
        log.warning("%s is public and has no docstring", name)
    return re.sub("<!-- table of rooms -->", lambda _: architecture.table(), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Draw pictures and formulas: MathML needs no script; keys scroll tables that are too wide."""
    html = html.replace("<table>", _SCROLLED + "<table>").replace("</table>", "</table></div>")
    drawn = re.sub("<!-- picture ([a-z]+) -->", lambda found: pictures()[found[1]], html)
    return formulas.rendered(html if drawn == html else architecture.TIP + drawn)


def _of_the_root(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](../")


def on_post_page(output: str, **_: Any) -> str:
    """Give the theme's dialog of the search a name, for those who hear the page."""
    return output.replace(' data-md-component="search" role="dialog"', _NAMED_SEARCH)


on_post_template = on_post_page
