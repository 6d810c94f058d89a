"""Executes the notebooks of docs/notebooks; one that fails says where."""

import pathlib
import sys

import nbformat
from nbclient import NotebookClient

folder = pathlib.Path(__file__).parents[1] / "docs" / "notebooks"
notebooks = sorted(folder.glob("*.ipynb"))
if not notebooks:
    sys.exit("there are no notebooks")
for path in notebooks:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    print(path.name)
