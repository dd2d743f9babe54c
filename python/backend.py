# SPDX-License-Identifier: MIT
"""backend - builds the package for pip, by PEP 517, with nothing but the standard library.

pip fetches the build system that pyproject.toml names, each time, before it builds. This one lies beside the package,
so there is nothing to fetch. A wheel is a zip archive with three more files that describe it.
"""

import ast
import base64
import configparser
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "plimsoll"
TAG = "py3-none-any"


def project():
    """The tables of pyproject.toml. Python before 3.11 cannot read TOML; ours is also an INI file, whose values are
    literals of Python."""
    tables = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    tables.optionxform = str
    tables.read_string((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    return {name: {key: ast.literal_eval(value) for key, value in tables[name].items()} for name in tables.sections()}


def metadata(tables):
    about = tables["project"]
    head = [
        ("Metadata-Version", "2.1"),
        ("Name", about["name"]),
        ("Version", about["version"]),
        ("Summary", about["description"]),
        ("License", about["license"]),
        ("Keywords", ",".join(about["keywords"])),
        *[("Classifier", line) for line in about["classifiers"]],
        *[("Requires-Dist", line) for line in about["dependencies"]],
        ("Requires-Python", about["requires-python"]),
        ("Description-Content-Type", "text/markdown"),
    ]
    return "".join(f"{key}: {value}\n" for key, value in head) + "\n" + (HERE / about["readme"]).read_text("utf-8")


def description(tables):
    """The files of NAME-VERSION.dist-info, without the list of all files."""
    points = {name.split(".")[-1]: table for name, table in tables.items() if name.startswith("project.entry-points.")}
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in table.items()) for group, table in points.items()]
    return {
        "METADATA": metadata(tables),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: plimsoll\nRoot-Is-Purelib: true\nTag: {TAG}\n",
        "entry_points.txt": "\n".join(lines),
    }


def stem(tables):
    return f"{tables['project']['name']}-{tables['project']['version']}"


def sources():
    """Name in the wheel -> content."""
    files = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".py", ".typed")]
    return {str(path.relative_to(HERE)): path.read_bytes() for path in files}


def write_wheel(directory, files):
    tables = project()
    folder = f"{stem(tables)}.dist-info"
    files = {**files, **{f"{folder}/{name}": text.encode() for name, text in description(tables).items()}}
    hashes = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
              for name, data in files.items()}
    record = [f"{name},sha256={hashes[name]},{len(data)}\n" for name, data in files.items()]
    files[f"{folder}/RECORD"] = "".join([*record, f"{folder}/RECORD,,\n"]).encode()
    wheel = f"{stem(tables)}-{TAG}.whl"
    with zipfile.ZipFile(Path(directory) / wheel, "w") as archive:  # not compressed: the same bytes everywhere
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return wheel


# ---- what pip calls ----


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, sources())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {"_plimsoll_editable.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    tables = project()
    files = {**sources(), **{name: (HERE / name).read_bytes() for name in ("pyproject.toml", "backend.py", "README.md")}}
    files["PKG-INFO"] = metadata(tables).encode()
    name = f"{stem(tables)}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            member = tarfile.TarInfo(f"{stem(tables)}/{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return name
