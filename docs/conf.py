"""The documentation: ``python -m sphinx -W --keep-going -n -j auto docs docs/_build`` builds it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from jupyter_client.connect import ConnectionFileMixin
from nbclient import NotebookClient

import hrprob

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "hrprob"
author = "the hrprob authors"
version = release = hrprob.__version__

_write = ConnectionFileMixin.write_connection_file
_SOCKETS = tempfile.TemporaryDirectory(prefix="hrprob-docs-")


def _write_connection_file(self: ConnectionFileMixin, **options: object) -> None:
    """Write the connection file of a notebook's process, with files of its own whatever the folder it starts in.

    By default they are relative, and the build and the notebook, which run in different folders, would wait for each other.
    """
    if self.transport == "ipc" and not os.path.isabs(self.ip):
        self.ip = os.path.join(tempfile.mkdtemp(dir=_SOCKETS.name), "kernel")
    _write(self, **options)


extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "commands",
    "kinds",
    "mathml",
    "prose_tables",
    "public_names",
]
# myst-nb leaves the executed notebooks beside the built pages.
exclude_patterns = ["_build", "_ext", "jupyter_execute", ".jupyter_cache"]

# Every code cell runs in the build, and an error or a warning in one fails it.
nb_execution_mode = "force"
# Of one cell: a busy machine may take minutes to compile its programs.
nb_execution_timeout = 1800
# Of the start of a notebook's process, which the configuration of myst-nb does not reach; 60 seconds by default.
NotebookClient.startup_timeout.default_value = 900
NotebookClient.setup_class(dict(vars(NotebookClient)))
nb_execution_raise_on_error = True
nb_execution_show_tb = True
# What a cell writes to stderr, a warning for example, is a warning of the build.
nb_output_stderr = "remove-warn"
nb_merge_streams = True
# The processes of the notebooks share compiled programs.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(HERE / "_build" / ".jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
if os.name == "posix":
    # The build talks to these processes through files of its own, not through ports that any user of the machine can reach.
    ConnectionFileMixin.transport.default_value = "ipc"
    ConnectionFileMixin.write_connection_file = _write_connection_file
# On a machine so busy that compiling takes minutes XLA says so on stderr, which would be a warning of the build.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# NumPyro imports a progress bar that asks for ipywidgets; no page shows one.
os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress not found")

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = False
napoleon_use_param = False
napoleon_use_rtype = False

# Without the processes of the notebooks nobody says in which language their cells are.
suppress_warnings = ["myst-nb.lexer"]
nitpicky = True
# Names of hrprob are checked; types in docstrings are words ("array-like"), and other libraries have their own pages.
nitpick_ignore_regex = [("py:.*", r"(?!hrprob).*")]

html_theme = "pydata_sphinx_theme"
html_title = "hrprob"
html_static_path = ["_static"]
html_css_files = ["hrprob.css"]
html_math_renderer = "mathml"
# Pages that stand alone have no section to navigate.
html_sidebars = {"index": [], "gallery": [], "start/index": []}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = "the hrprob authors, MIT licence"
