"""Folders of any Arrow filesystem, in which files appear at once and whole."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.fs

from fabcost import archive
from fabcost.archive import Array

_BLOCK = archive.Format("fabcost-block", 1, "block")


def located(place: str | os.PathLike[str]) -> tuple[Any, str]:
    """The Arrow filesystem of a path or address, and the path in it.

    Examples
    --------
    >>> located("logs/day.parquet")[1] == str(Path("logs/day.parquet").absolute())
    True
    """
    text = os.fspath(place)
    try:
        if "://" in text:
            files, path = pyarrow.fs.FileSystem.from_uri(text)
            return files, str(path)
        return pyarrow.fs.LocalFileSystem(), str(Path(text).absolute())
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{text} cannot be opened: {error}") from error


class Folder(NamedTuple):
    """A folder by its address, which any process can open.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as made:
    ...     folder = Folder(f"{made}/work")
    ...     folder.write("numbers", {"round": 3}, {})
    ...     folder.read("numbers"), folder.read("others")
    (({'round': 3}, {}), None)
    """

    place: str

    def within(self, name: str) -> Folder:
        """A folder in this one."""
        return Folder(f"{self.place.rstrip('/')}/{name}")

    def write(self, name: str, settings: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Settings and arrays as a file, which takes the place of an older one in one step."""
        files, path = located(self.place)
        files.create_dir(path, recursive=True)
        partial = f"{path}/{name}.{uuid.uuid4().hex}.partial"
        with files.open_output_stream(partial, compression=None) as stream:
            stream.write(archive.pack(_BLOCK, settings, arrays))
        files.move(partial, f"{path}/{name}")

    def read(self, name: str) -> tuple[dict[str, Any], dict[str, Array]] | None:
        """What `write` wrote; None if it is not there or is damaged, and has to be made again."""
        files, path = located(self.place)
        try:
            with files.open_input_stream(f"{path}/{name}", compression=None) as stream:
                return archive.unpack(_BLOCK, stream.read(), name)
        except (FileNotFoundError, ValueError):
            return None

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        files, path = located(self.place)
        try:
            files.delete_file(f"{path}/{name}")
        except FileNotFoundError:
            return

    def clear(self) -> None:
        """Delete the folder with all that is in it."""
        files, path = located(self.place)
        if files.get_file_info(path).type == pyarrow.fs.FileType.Directory:
            files.delete_dir(path)
