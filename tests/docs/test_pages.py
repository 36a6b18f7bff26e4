"""The pages: every link between them leads somewhere, every page is listed, and every name and key has its entry.

Links are checked twice: in the sources, which is quick, and with their anchors in the pages as built.

The build of the whole site, with every notebook executed, is `python -m sphinx -W --keep-going -j auto docs docs/_build`.
"""

import html
import json
import re
import subprocess
import sys
import tomllib
import urllib.parse
from pathlib import Path

import pytest

import hrprob
from hrprob._core.records import describe as plain
from hrprob.io.config import Experiment
from hrprob.kinds import FAMILIES, describe

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
OFFLINE = ["-D", "nb_execution_mode=off"]


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the extensions of the documentation importable."""
    pytest.importorskip("sphinx", reason="the documentation needs the extra `docs`")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
            entries = [line for line in block.split() if not line.startswith(":")]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert listed == {page.resolve() for page in PAGES}


@pytest.mark.usefixtures("extensions")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_configuration_key_has_its_line_and_its_example(family: str) -> None:
    import kinds

    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    assert f"```{{kinds}} {family}\n" in pages
    for entry in describe(family):
        lines = list(kinds.section(entry))
        for parameter in entry.parameters:
            row = next(line for line in lines if line.startswith(f"| `{parameter.name}` |"))
            assert all(cell.strip() for cell in row.strip("|").split(" | ")), row
        if entry.parameters:
            example = kinds.example(entry)
            if family == "predictives":
                assert all(
                    f'"{name}": ' in example for name in ("kind", *(one.name for one in entry.parameters))
                )
                continue
            written = tomllib.loads(re.sub(r"^# ", "", example, flags=re.M))
            table = written["policy"][0] if "policy" in written else next(iter(written["problem"].values()))
            table = (
                table.get(entry_key(family), table) if family in ("engines", "models", "priors") else table
            )
            assert set(table) == {"kind", *(parameter.name for parameter in entry.parameters)}


def entry_key(family: str) -> str:
    """Return the key of `[[policy]]` that names a kind of a family."""
    return {"engines": "engine", "models": "model", "priors": "prior"}[family]


def test_the_keys_of_a_problem_and_a_run_have_their_lines() -> None:
    """Each with its default, and with an example that is one."""
    text = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    problem, run = hrprob.Problem.__dataclass_fields__, Experiment.__dataclass_fields__
    defaults = {
        name: field.default for name, field in problem.items() if name not in ("theta", "phi", "bounds")
    }
    defaults |= {f"bounds.{name}": getattr(problem["bounds"].default, name) for name in ("theta", "phi")}
    defaults |= {name: run[name].default for name in ("users", "trials", "seed")}
    for key in (*defaults, "theta", "phi", "kind", "name"):
        row = re.search(rf"^\| `{re.escape(key)}` \|(.*)\|$", text, flags=re.M)
        assert row, key
        kind, default, meaning, example = (cell.strip() for cell in row[1].split(" | "))
        assert kind, key
        assert meaning, key
        assert key.partition(".")[0] in tomllib.loads(example.strip("`")), key
        if key in defaults:
            written = None if default == "none" else tomllib.loads(f"value = {default.strip('`')}")["value"]
            written = {"kind": written} if isinstance(written, str) else written
            assert written == plain(defaults[key]), key


@pytest.mark.usefixtures("extensions")
def test_every_public_name_has_an_entry() -> None:
    import public_names

    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference" / "api").glob("*.md"))
    shown = re.findall(r"\.\. names:: (\S+)\n(?:   :group: (.*)\n)?", pages)
    by_group = public_names.groups("hrprob")
    top = {name for package, group in shown if package == "hrprob" for name in by_group[group]}
    wanted = {name.removeprefix("hrprob.") for name in public_names.public_names() if name.count(".") == 1}
    assert wanted <= top
    assert {package for package, _ in shown} == set(public_names.PACKAGES)


@pytest.mark.usefixtures("extensions")
def test_a_mention_of_what_does_not_exist_is_seen() -> None:
    import public_names

    assert public_names.exists("hrprob.policies.radii.base.RADII")
    assert not public_names.exists("hrprob.policies.radii.no_such_name")
    assert public_names.addresses()["hrprob.simulation.engine.simulate"] == "hrprob.simulate"


@pytest.mark.usefixtures("extensions")
def test_fields_of_named_tuples_have_their_words() -> None:
    import public_names

    found = {name: (kind, words) for name, kind, words in public_names.fields_of(hrprob.models.Stays)}
    assert found["squares"] == ("jax.Array", "(n,) Σ r²")
    assert list(found) == list(hrprob.models.Stays._fields)
    entry = "\n".join(public_names._entry("hrprob.models.Stays", hrprob.models.Stays))
    assert ":param squares: (n,) Σ r²" in entry
    assert ":exclude-members: x, rounds, total, squares" in entry
    # One whose docstring has them itself is not described twice.
    assert ":param" not in "\n".join(public_names._entry("hrprob.Seen", hrprob.Seen))
    assert "    squares : " in str(hrprob.Seen.__doc__)


@pytest.mark.usefixtures("extensions")
def test_every_constant_has_words_of_its_own() -> None:
    import public_names

    constants = [
        name for name, value in public_names.public_names().items() if public_names.is_constant(value)
    ]
    assert "hrprob.plot.BAND" in constants
    assert all(public_names.words_of(name) for name in constants)


@pytest.mark.slow
@pytest.mark.usefixtures("extensions")
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    """All references and links, without the notebooks' processes."""
    build(tmp_path, *OFFLINE)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    # Nothing is loaded from elsewhere when a page is viewed.
    assert not re.findall(r"""<(?:script|link|img)[^>]+(?:src|href)=["']https?://""", text)
    assert broken_links(tmp_path) == []


NOTEBOOK = """
import sys
sys.path.insert(0, {docs!r})
import conf, nbformat
from nbclient import NotebookClient
cell = nbformat.v4.new_code_cell("import os; print(os.getcwd())")
notebook = nbformat.v4.new_notebook(cells=[cell])
NotebookClient(notebook, resources={{"metadata": {{"path": {folder!r}}}}}).execute()
print(notebook.cells[0].outputs[0]["text"])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("extensions")
def test_a_notebook_in_another_folder_than_the_build_answers(tmp_path: Path) -> None:
    code = NOTEBOOK.format(docs=str(DOCS), folder=str(tmp_path))
    command = [sys.executable, "-B", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert done.stdout.strip() == str(tmp_path), done.stderr[-2000:]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.study
@pytest.mark.usefixtures("extensions")
def test_the_site_builds_with_every_notebook_executed(tmp_path: Path) -> None:
    build(tmp_path / "site")
    assert broken_links(tmp_path / "site") == []
    notebooks = [page for page in PAGES if "file_format: mystnb" in page.read_text(encoding="utf-8")]
    for page in notebooks:
        executed = tmp_path / "jupyter_execute" / page.relative_to(DOCS).with_suffix(".ipynb")
        for cell in json.loads(executed.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if re.search(r"^ *hrprob\.plot\.\w+\(", source, flags=re.M) and cell["cell_type"] == "code":
                shown = {kind for output in cell["outputs"] for kind in output.get("data", ())}
                assert "image/png" in shown, (page.name, source)


def broken_links(site: Path) -> list[str]:
    """Return the links within a built site that lead to no page, no file or no anchor."""
    pages = {
        page.resolve(): page.read_text(encoding="utf-8")
        for page in site.rglob("*.html")
        if "_static" not in page.parts
    }
    anchors = {page: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for page, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for link in map(html.unescape, re.findall(r'(?:href|src)="([^"]*)"', text)):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            fragment = urllib.parse.unquote(parts.fragment)
            if not target.exists() or (fragment and target in anchors and fragment not in anchors[target]):
                broken.append(f"{page.relative_to(site.resolve())}: {link}")
    return broken


def build(folder: Path, *options: str) -> None:
    """Build the site as the documented command does."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(folder / ".doctrees")]
    done = subprocess.run(
        [*command, *options, str(DOCS), str(folder)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
