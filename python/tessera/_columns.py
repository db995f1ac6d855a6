# SPDX-License-Identifier: Apache-2.0
"""Columns and frames of NumPy, pandas, polars, Arrow and PyTorch, for the verbs: how each becomes keys of a table, and how
answers become columns of the same library. Read next: _verbs.py.
"""

import importlib
import sys
from typing import Any, Dict, List, Literal, Optional, Protocol, Sequence, Set, Tuple, TypeVar, Union

import numpy as np

from tessera import _arrow, _texts
from tessera._arrays import HOST, ByCuda, ByDlpack, NumPyArray, adapter_of, name_of, plain_array, way_out
from tessera._arrays import Column as SomeColumn
from tessera._arrow_out import Arrow
from tessera._library import BadArgument, WrongType
from tessera._words import need_word

Nulls = Literal["refuse", "drop"]

# What a type checker knows of columns and frames, by what each library calls its own, so that none has to be installed.


class PandasColumn(Protocol):
    """A Series or an Index of pandas: codes and counts are NumPy's."""

    @property
    def array(self) -> Any: ...
    def to_numpy(self) -> Any: ...


class PolarsColumn(Protocol):
    def gather(self, indices: Any) -> Any: ...
    def to_numpy(self) -> Any: ...


class AnyFrame(Protocol):
    @property
    def columns(self) -> Any: ...


#: columns with whose answers numbers of rows are NumPy's
HostT = TypeVar("HostT", bound=Union[NumPyArray, PandasColumn])
#: columns with whose answers they are of the same library: polars, pyarrow, PyTorch, CuPy, JAX
SameT = TypeVar("SameT", bound=Union[SomeColumn, ByDlpack, ByCuda])
PandasT = TypeVar("PandasT", bound=PandasColumn)
FrameT = TypeVar("FrameT", bound=AnyFrame)
#: what NumPy makes an array of
Listed = Sequence[Any]


def library_of(thing: Any) -> str:
    """The library of a column or a frame, as far as its answers are of that library: otherwise "numpy"."""
    name = type(thing).__module__.partition(".")[0]
    if name in ("pandas", "polars", "pyarrow", "torch"):
        return name
    return "numpy"


def is_frame(thing: Any) -> bool:
    """Whether it is a table of columns of pandas, polars or pyarrow."""
    return library_of(thing) in ("pandas", "polars", "pyarrow") and hasattr(thing, "columns")


class Column:
    """A column that a verb works on. values: NumPy's, of one axis; known: which rows are no nulls; None if all are."""

    def __init__(self, source: Any, name: str) -> None:
        self.source, self.name, self.library = source, name, library_of(source)
        if is_frame(source) or hasattr(source, "columns"):
            raise WrongType(f"{name}: is a {type(source).__name__}: pass one column")
        self.values, self.known = _read(source, name)
        self.shape = self.values.shape
        if len(self.shape) != 1:
            self.values = self.values.reshape(-1)
        if self.known is not None and bool(self.known.all()):
            self.known = None

    def __len__(self) -> int:
        return len(self.values)

    def checked(self, nulls: Nulls) -> "Column":
        need_word("nulls", nulls, ("refuse", "drop"))
        if self.known is not None and nulls == "refuse":
            raise BadArgument(
                f'{self.name}: {int((~self.known).sum())} of {len(self)} rows are null: pass nulls="drop", or fill them'
            )
        return self

    def keys(self) -> NumPyArray:
        """The rows as keys of a table: whole numbers of 32 or 64 bits, equal where the rows are."""
        values = self.values
        kind, width = values.dtype.kind, values.dtype.itemsize
        if not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
        if kind in "iu" and width in (4, 8):
            return np.ascontiguousarray(values)
        if kind in "iub":
            return values.astype(np.int32)
        if kind in "mM":
            return np.ascontiguousarray(values).view(np.int64)
        if kind == "f" and width <= 8:
            wide: NumPyArray = values.astype(np.float32 if width < 8 else np.float64)
            np.add(wide, 0.0, out=wide)  # -0.0 is 0.0
            nan = np.isnan(wide)
            if nan.any():
                wide[nan] = np.nan
            return wide.view(np.int32 if width < 8 else np.int64)
        if _texts.kind_of(values, self.known) is not None:
            return _texts.numbers((values, self.known, self.name))[0]
        if kind in "OUSTV":
            raise _no_numbers(self.name, values)
        raise WrongType(f"{self.name}: is {name_of(kind, width)}: {way_out(self.name, 'keys', kind, width, 8)}")

    def pick(self, rows: NumPyArray) -> Any:
        """These rows, as a column of the same library."""
        if self.library == "pandas":
            return self.source.take(rows).reset_index(drop=True) if hasattr(self.source, "iloc") else self.source.take(rows)
        if self.library == "polars":
            return self.source.gather(rows)
        if self.library == "pyarrow":
            taken = self.source.take(module("pyarrow").array(rows))
            return taken.combine_chunks() if hasattr(taken, "combine_chunks") else taken
        return wrap(self.values[rows], self.library)


def _no_numbers(name: str, values: NumPyArray) -> WrongType:
    """What a column of objects is told."""
    first = values[0] if len(values) else ""
    return WrongType(f"{name}: holds objects of type {type(first).__name__}: pass a column of numbers, texts, dates or times")


_no_columns: Set[type] = {np.ndarray, int, float, list}  # types that were looked at


def plain(thing: Any, name: str) -> Any:
    """A column of pandas, polars or Arrow as an array of NumPy, without nulls; other things as they are."""
    if type(thing) in _no_columns:
        return thing
    thing = _arrow.from_gpu(thing, name)
    if not (library_of(thing) in ("pandas", "polars", "pyarrow") or _arrow.is_arrow(thing)):
        _no_columns.add(type(thing))
        return thing
    if is_frame(thing) or hasattr(thing, "columns"):
        return thing  # from_numbers tells what to do
    if is_coded(thing):
        raise WrongType(f"{name}: holds categories: pass their numbers, as tessera.factorize({name})[0] makes them")
    values, known = _read(thing, name)
    if known is not None and not known.all():
        raise BadArgument(f"{name}: {int((~known).sum())} of {len(known)} rows are null: fill or drop them")
    return np.ascontiguousarray(values)


def is_coded(source: Any) -> bool:
    """Whether its values are numbers of categories, which mean something in this column alone."""
    if library_of(source) == "pyarrow":
        return hasattr(source.type, "index_type")
    if library_of(source) == "polars":
        return str(source.dtype).startswith(("Categorical", "Enum"))
    return hasattr(getattr(source, "dtype", None), "categories")


def module(library: str) -> Any:
    return sys.modules[library]


def wrap(array: NumPyArray, library: str) -> Any:
    """Numbers for each row, such as codes and counts: of polars, Arrow and PyTorch where these came in, otherwise NumPy's."""
    if library == "polars":
        series = module("polars").Series
        return series(Arrow(array)) if hasattr(series, "__arrow_c_stream__") else series(array)
    if library == "pyarrow":
        return module("pyarrow").array(array)
    if library == "torch":
        return module("torch").from_numpy(array)
    return array


def _read(source: Any, name: str) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    if isinstance(source, np.ma.MaskedArray):
        return source.filled(source.dtype.type(0)), ~np.ma.getmaskarray(source)
    if isinstance(source, np.ndarray):
        values, known = source, None
    elif library_of(source) == "pandas":
        return _read_pandas(source)
    elif library_of(source) == "polars":
        return _read_polars(source)
    elif _arrow.is_arrow(source):
        values, known = _arrow.read_column(source, name)
    else:
        adapter = adapter_of(source)
        if adapter is None:
            values, known = plain_array(source, name), None
            if values.size == 0 and values.dtype.kind == "f":
                values = values.astype(np.int64)
        elif adapter.look(source, name, False).device != HOST:
            raise BadArgument(
                f"{name}: is on a GPU as an array of {type(source).__module__.partition('.')[0]}, and the rest is not: pass "
                "arrays of one device; on a GPU verbs take those of PyTorch, CuPy and JAX, as torch.as_tensor(x) makes them"
            )
        else:
            values, known = np.from_dlpack(source), None
    if values.dtype.kind in "mM":
        missing = np.isnat(values)
        if missing.any():
            known = ~missing if known is None else known & ~missing
    return values, known


def _read_pandas(source: Any) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    """NaN and NaT are pandas' nulls. A categorical column has the codes of its categories."""
    dtype = source.dtype
    if is_coded(source):
        codes = np.asarray(source.cat.codes if hasattr(source, "cat") else source.codes)
        return codes, codes >= 0
    known: NumPyArray = ~np.asarray(source.isna())
    if not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iufb":
        plain = np.dtype(getattr(dtype, "numpy_dtype", None) or f"{dtype.kind}{dtype.itemsize}")
        if not known.all():
            return np.asarray(source.fillna(plain.type(0)).to_numpy(dtype=plain)), known
        return source.to_numpy(dtype=plain), None
    if getattr(dtype, "kind", "O") == "M":
        unit = getattr(dtype, "unit", "ns")
        return np.asarray(source.to_numpy(dtype=f"datetime64[{unit}]")), known
    return source.to_numpy(), known


def _read_polars(source: Any) -> Tuple[NumPyArray, Optional[NumPyArray]]:
    known = source.is_not_null().to_numpy() if source.null_count() else None
    if is_coded(source):
        source = source.to_physical()
    if known is not None and (source.dtype.is_numeric() or source.dtype == module("polars").Boolean):
        source = source.fill_null(0 if source.dtype.is_numeric() else False)
    return source.to_numpy(), known


# ---- Frames ----------------------------------------------------------------------------------------------------------


class Frame:
    """A frame of pandas, polars or pyarrow."""

    def __init__(self, source: Any, name: str) -> None:
        self.source, self.name, self.library = source, name, library_of(source)
        self.names: List[str] = list(source.column_names if self.library == "pyarrow" else source.columns)

    def __len__(self) -> int:
        return int(self.source.num_rows) if self.library == "pyarrow" else len(self.source)

    def column(self, name: Any) -> Column:
        if name not in self.names:
            raise BadArgument(f"{self.name}: has no column {name!r}: there are {', '.join(map(repr, self.names))}")
        return Column(self.source[name], str(name))

    def take(self, rows: NumPyArray, names: Sequence[Any]) -> Dict[Any, Any]:
        """These columns with these rows; -1 is a row of nulls."""
        if self.library == "pandas":
            some = self.source[list(names)]
            if len(rows) and int(rows.min()) < 0:
                taken = some.reset_index(drop=True).reindex(rows).reset_index(drop=True)
            else:
                taken = some.take(rows).reset_index(drop=True)
            return {name: taken[name] for name in names}
        if self.library == "polars":
            at = module("polars").Series(rows)
            at = module("polars").select(module("polars").when(at >= 0).then(at)).to_series()
            return {name: self.source[name].gather(at) for name in names}
        at = module("pyarrow").array(rows, mask=rows < 0)
        return {name: self.source[name].take(at) for name in names}


def coalesced(library: str, first: Any, second: Any) -> Any:
    """A column with the rows of the first, and of the second where the first has nulls."""
    if library == "pandas":
        return first.where(first.notna(), second).astype(first.dtype if second.isna().any() else second.dtype)
    if library == "polars":
        return module("polars").select(module("polars").coalesce(first, second)).to_series()
    return importlib.import_module("pyarrow.compute").coalesce(first, second)


def make_frame(library: str, columns: Dict[Any, Any]) -> Any:
    if library == "pandas":
        return module("pandas").DataFrame(columns)
    if library == "polars":
        return module("polars").DataFrame(columns)
    return module("pyarrow").table(columns)
