"""Folders of any Arrow filesystem, in which files appear at once and whole."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.ipc

from fabcost import archive
from fabcost.archive import Array
from fabcost.sparse import SparseRows

_STATE = archive.Format("fabcost-fit", 1, "state of a fit")


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
        return pyarrow.fs.LocalFileSystem(use_mmap=True), str(Path(text).absolute())
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
        """Settings and some arrays as a file, with a checksum."""
        self._put(name, lambda stream: stream.write(archive.pack(_STATE, settings, arrays)))

    def read(self, name: str) -> tuple[dict[str, Any], dict[str, Array]] | None:
        """What `write` wrote; None if it is not there or is damaged, and has to be made again."""
        files, path = located(self.place)
        try:
            with files.open_input_stream(f"{path}/{name}", compression=None) as stream:
                return archive.unpack(_STATE, stream.read(), name)
        except (FileNotFoundError, ValueError):
            return None

    def write_rows(self, name: str, columns: dict[str, Any]) -> None:
        """Arrays with as many rows each, in Arrow's own format, from which they need no copy.

        Words are coded, as one of Arrow's own arrays; rows may be sparse.
        """
        rows = {k: each for k, each in columns.items() if isinstance(each, SparseRows)}
        arrays = {name: _arrow(each) for name, each in columns.items()}
        batch = pa.record_batch(arrays, metadata={k: str(rows[k].weights) for k in rows})

        def write(stream: Any) -> None:
            with pa.ipc.new_file(stream, batch.schema) as file:
                file.write_batch(batch)

        self._put(name, write)

    def read_rows(self, name: str) -> dict[str, Any] | None:
        """What `write_rows` wrote; None if it is not there or not whole."""
        files, path = located(self.place)
        try:
            with files.open_input_file(f"{path}/{name}") as file:
                batch = pa.ipc.open_file(file).get_batch(0)
        except (FileNotFoundError, pa.ArrowInvalid):
            return None
        columns = zip(batch.schema.names, batch.columns, strict=True)
        widths = batch.schema.metadata or {}
        return {name: _numpy(each, widths.get(name.encode())) for name, each in columns}

    def _put(self, name: str, write: Callable[[Any], object]) -> None:
        """A file that takes the place of an older one in one step."""
        files, path = located(self.place)
        files.create_dir(path, recursive=True)
        partial = f"{name}.{uuid.uuid4().hex}.partial"
        try:
            with files.open_output_stream(f"{path}/{partial}", compression=None) as stream:
                write(stream)
            files.move(f"{path}/{partial}", f"{path}/{name}")
        except OSError as error:
            self.remove(partial)
            raise OSError(f"{self.place}/{name} cannot be written: {error}") from error

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


def _arrow(array: Any) -> Any:
    if isinstance(array, SparseRows):
        numbers = {"column": pa.array(array.columns), "value": pa.array(array.values)}
        found = pa.StructArray.from_arrays([*numbers.values()], names=[*numbers])
        return pa.LargeListArray.from_arrays(pa.array(array.starts), found)
    if not isinstance(array, np.ndarray):
        return array
    flat = pa.array(array.ravel())
    return flat if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, array.shape[1])


def _numpy(column: Any, width: bytes | None) -> Any:
    """Numbers as they lie in the file: a table is a view, the rest is small and is copied."""
    if width is not None:
        columns, values = (each.to_numpy() for each in column.values.flatten())
        return SparseRows.part_of(column.offsets.to_numpy(), columns, values, int(width))
    if pa.types.is_dictionary(column.type):
        return column
    if not pa.types.is_fixed_size_list(column.type):
        return np.array(column.to_numpy())
    flat = column.flatten().to_numpy()
    return np.asarray(flat.reshape(len(column), column.type.list_size))
