"""Files inside published packages: found where the package is installed, else fetched once by the user's own pip."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from probewise.errors import DataUnavailable

_PIP = ("-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check", "--require-hashes")

_SDIST = """
import pathlib, shutil, sys
from pip._internal.commands import create_command
package, version, folder = sys.argv[1:]
download = create_command("download")
with download.main_context():
    options, _ = download.parse_args(["--no-binary", ":all:", "--quiet", "--disable-pip-version-check", package])
    session = download.get_default_session(options)
    found = download._build_package_finder(options, session).find_all_candidates(package)
    links = [each.link for each in found if str(each.version) == version and each.link.filename.endswith(".tar.gz")]
    if not links:
        sys.exit(f"no archive of {package} {version} was found")
    answer = session.get(links[0].url_without_fragment, headers={"Accept-Encoding": "identity"}, stream=True)
    answer.raise_for_status()
    with open(pathlib.Path(folder, links[0].filename), "wb") as file:
        shutil.copyfileobj(answer.raw, file)
"""
"""Fetches an archive of sources as pip would, and does no more: `pip download` itself would run what is in it."""


@dataclass(frozen=True)
class Published:
    """Files of a published package, the same bytes whatever machine they come from."""

    package: str
    """Name of the package, as pip knows it."""
    version: str
    """The version that is downloaded; an installed one of another version will do if its files are the same."""
    kind: Literal["wheel", "sdist"]
    """Which of its archives holds the files."""
    archives: tuple[str, ...]
    """sha256 of the archive, one for each system where they differ; nothing in another one is looked at."""
    files: Mapping[str, str]
    """Path inside the archive (of a wheel: as installed) -> sha256 of the file."""
    megabytes: float
    """Size of the archive, said before it is downloaded."""
    licence: str
    """Licence of the package, and of the data if it differs."""
    origin: str
    """Who made the data."""

    @property
    def spec(self) -> str:
        """Name and version as pip takes them."""
        return f"{self.package}=={self.version}"


def fetch(source: Published) -> tuple[Path, ...]:
    """Paths of the files: in the cache, in the installed package, or taken from the archive, which is not kept."""
    folder = cache_folder() / source.package
    kept = tuple(folder / Path(member).name for member in source.files)
    if all(_is(path, sha256) for path, sha256 in zip(kept, source.files.values(), strict=True)):
        return kept
    if (installed := _installed(source)) is not None:
        return installed
    with unpacked(source, only_files=True) as contents:
        for path, found in zip(kept, checked(source, contents), strict=True):
            keep(path, found.read_bytes())
    return kept


def checked(source: Published, folder: Path) -> tuple[Path, ...]:
    """Paths of the files below ``folder``, after a look at every byte."""
    paths = tuple(folder / member for member in source.files)
    for path, (member, sha256) in zip(paths, source.files.items(), strict=True):
        if not _is(path, sha256):
            raise DataUnavailable(f"{member} of {source.spec} is not the file that it was; do not trust it, report it.")
    return paths


def keep(path: Path, content: bytes) -> None:
    """Write a file of the cache in one step, so that a broken download leaves nothing behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except OSError as error:
        raise DataUnavailable(
            f"{path.parent} cannot be written ({error.strerror}); name another folder in the variable PROBEWISE_DATA."
        ) from None


def cache_folder() -> Path:
    """$PROBEWISE_DATA, else the folder where this system keeps what can be fetched again."""
    if given := os.environ.get("PROBEWISE_DATA"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "probewise"


@contextmanager
def unpacked(source: Published, *, only_files: bool = False) -> Iterator[Path]:
    """A temporary folder with the contents of the archive, or only with the files wanted."""
    with tempfile.TemporaryDirectory() as name:
        archive = _download(source, Path(name) / "archive")
        contents = Path(name) / "contents"
        if source.kind == "wheel":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(contents, set(source.files) & set(wheel.namelist()) if only_files else None)
            yield contents
        else:
            top = archive.name.removesuffix(".tar.gz")
            wanted = {f"{top}/{member}" for member in source.files}
            with tarfile.open(archive) as sdist:
                sdist.extractall(contents, [m for m in sdist if not only_files or m.name in wanted], filter="data")
            yield contents / top


def _download(source: Published, folder: Path) -> Path:
    """The archive in ``folder``, whose bytes are known; pip decides where it comes from, and nothing of it is run."""
    print(f"probewise: fetching {source.spec} with pip, {source.megabytes:g} MB ...", file=sys.stderr)
    folder.mkdir()
    done = subprocess.run([sys.executable, *_words(source, folder)], capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip() or "no reason given").splitlines()[-1].removeprefix("ERROR: ").rstrip(".")
        raise DataUnavailable(
            f"the data are in the package {source.spec}, which pip could not fetch ({reason}); "
            f"connect to a network, or set PROBEWISE_DATA to a folder that has {source.package}/ in it."
        )
    archive = next(folder.iterdir())
    if not any(_is(archive, sha256) for sha256 in source.archives):
        raise DataUnavailable(f"{archive.name} is not the archive that it was; do not trust it, report it.")
    return archive


def _words(source: Published, folder: Path) -> tuple[str, ...]:
    """What Python is to run: pip for a wheel, which is never built, or its finder for an archive of sources."""
    if source.kind == "sdist":
        return ("-c", _SDIST, source.package, source.version, str(folder))
    wanted = folder.with_name("wanted.txt")
    wanted.write_text(" ".join([source.spec, *(f"--hash=sha256:{each}" for each in source.archives)]) + "\n")
    return (*_PIP, "--only-binary", ":all:", "--dest", str(folder), "--requirement", str(wanted))


def _installed(source: Published) -> tuple[Path, ...] | None:
    """The files of an installed package, if they are there and the same."""
    try:
        package = importlib.metadata.distribution(source.package)
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = tuple(Path(str(package.locate_file(member))) for member in source.files)
    same = all(_is(path, sha256) for path, sha256 in zip(paths, source.files.values(), strict=True))
    return paths if same else None


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256
