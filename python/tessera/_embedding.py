# SPDX-License-Identifier: Apache-2.0
"""tessera.torch.Embedding: rows of arbitrary ids, as torch.nn.Embedding has rows of numbers.

An index gives ids their numbers, and a Parameter has the row of each number, so that gradients and the optimiser work as they
do with torch.nn.Embedding. Read next: docs/frameworks.md, _types.py (Index).
"""

import itertools
import math
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional

from tessera._library import BadArgument, Error, Unsupported
from tessera._types import Index

Init = Callable[[Tensor, Tensor], None]

_modules: "weakref.WeakValueDictionary[int, Embedding]" = weakref.WeakValueDictionary()
_handles = itertools.count(1)


# ---- Rows that depend on nothing but seed and id ---------------------------------------------------------------------


def _mixed(x: Tensor) -> Tensor:
    """The finalizer of splitmix64, with int64 in the place of uint64."""
    x = (x ^ (x >> 30 & (1 << 34) - 1)) * (0xBF58476D1CE4E5B9 - (1 << 64))
    x = (x ^ (x >> 27 & (1 << 37) - 1)) * (0x94D049BB133111EB - (1 << 64))
    return x ^ (x >> 31 & (1 << 33) - 1)


def normal(seed: int = 0, std: float = 1.0) -> Init:
    """An `init` of Embedding: normally distributed numbers that depend on the seed, the id and the column alone."""
    if not -(1 << 63) <= seed < 1 << 63:
        raise BadArgument(f"seed = {seed}: is a number of 64 bits")

    def fill(ids: Tensor, rows: Tensor) -> None:
        pairs = (rows.shape[1] + 1) // 2
        start = _mixed(ids + _mixed(torch.tensor(seed, device=ids.device)))
        bits = _mixed(start[:, None] + torch.arange(1, pairs + 1, device=ids.device))
        first, second = (bits >> 32 & (1 << 32) - 1).double(), (bits & (1 << 32) - 1).double()
        radius = (-2 * ((first + 0.5) * 2.0**-32).log()).sqrt() * std  # Box and Muller
        angle = second * (2 * math.pi * 2.0**-32)
        rows.copy_(torch.cat([radius * angle.cos(), radius * angle.sin()], 1)[:, : rows.shape[1]])

    return fill


# ---- Rows on the host ------------------------------------------------------------------------------------------------


class _Memory:
    """Pinned memory of the host, as a GPU's kernels see it: at the same address."""

    def __init__(self, array: Tensor) -> None:
        self.array = array  # is kept
        self.__cuda_array_interface__ = {
            "shape": tuple(array.shape),
            "typestr": f"<i{array.element_size()}",
            "data": (array.data_ptr(), False),
            "version": 2,
        }


class _HostRows:
    """Rows in host memory by id: those of the weight, named "rows", and those of the optimiser's state by its names. Where the
    weight is on a GPU, its kernels copy rows from and to this memory, each row once over the bus, and nobody waits for them."""

    def __init__(self, device: torch.device) -> None:
        self.index = Index("int64", backend="cpu")
        self.device = device
        self.arrays: Dict[str, Tensor] = {}
        self.seen: Dict[str, Tensor] = {}  # the same memory, as the device sees it

    def __getstate__(self) -> Dict[str, Any]:
        self._finish()
        return {**self.__dict__, "seen": {}}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name, array in self.arrays.items():
            self._show(name, array)

    def moved(self, device: torch.device) -> "_HostRows":
        """These rows for a weight on that device."""
        self._finish()
        made = _HostRows(device)
        made.index = self.index
        for name, array in self.arrays.items():
            made._show(name, array)
        return made

    def _finish(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _show(self, name: str, array: Tensor) -> None:
        """Keeps an array, and as what the device sees it. Another device than that of the memory would get a copy."""
        self.seen[name] = self.arrays[name] = array
        if self.device.type == "cuda":
            with torch.cuda.device(self.device):
                self.arrays[name] = array = array.pin_memory()
                seen = torch.as_tensor(_Memory(array), device=self.device).view(array.dtype)
            self.seen[name] = seen if seen.data_ptr() == array.data_ptr() else array

    def _grow(self, name: str, rows: Tensor, room: int) -> None:
        """Makes an array for `room` rows like these, with what there is."""
        old = self.arrays.get(name)
        array = torch.zeros(
            (room, *rows.shape[1:]),
            dtype=rows.dtype if old is None else old.dtype,
            pin_memory=self.device.type == "cuda",
        )
        if old is not None:
            self._finish()
            array[: len(old)] = old
        self._show(name, array)

    def put(self, ids: Tensor, rows: Mapping[str, Tensor]) -> None:
        """ids: on the host; rows: anywhere."""
        at = self.index.number(ids).long()
        room = self.index.numbers_given()
        for name in {**self.arrays, **rows}:
            array, new = self.arrays.get(name), rows.get(name)
            if array is None or len(array) < room:
                like = array if new is None else new
                assert like is not None
                self._grow(name, like, max(room + room // 2, 64))
            seen = self.seen[name]
            seen[at.to(seen.device)] = 0 if new is None else new.to(seen.device, seen.dtype)

    def take(self, ids: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
        """Which ids have rows here, and these rows, on the device, which are here no longer. ids: on the host."""
        at, there = self.index.find(ids)
        at = at[there].long()
        rows = {name: seen[at.to(seen.device)].to(self.device) for name, seen in self.seen.items()}
        self.index.erase(ids[there])
        return there, rows

    def all(self) -> Tuple[Tensor, Dict[str, Tensor]]:
        ids, at = self.index.items(like=torch.empty(0, dtype=torch.int64))
        self._finish()
        return ids, {name: array[at.long()] for name, array in self.arrays.items()}


# ---- Operators -------------------------------------------------------------------------------------------------------
# Rows that move are written by `bring` into the weight, which a compiler is not told of: it would copy the weight to be safe.
# All that reads these rows needs the numbers, so it comes later.


def _module_of(handle: int) -> "Embedding":
    module = _modules.get(int(handle))
    if module is None:
        raise BadArgument("the Embedding of this operator is gone: keep it as long as it is called")
    return module


@torch.library.custom_op("tessera::embedding_number", mutates_args={"unplaced"})
def _number(unplaced: Tensor, module: int, ids: Tensor, learns: bool) -> Tensor:
    return _module_of(module)._number(unplaced, ids, learns)


def _bring(unplaced: Tensor, module: int, ids: Tensor, learns: bool, keeps: bool) -> Tensor:
    return _module_of(module)._bring(unplaced, ids, learns, keeps)


def _waiting_op() -> Any:
    unsafe = getattr(torch.Tag, "cudagraph_unsafe", None)
    tags = {"tags": (unsafe,)} if unsafe is not None else {}
    try:
        return torch.library.custom_op("tessera::embedding_bring", _bring, mutates_args={"unplaced"}, **tags)
    except TypeError:  # PyTorch before 2.6 has no tags here
        return torch.library.custom_op("tessera::embedding_bring", _bring, mutates_args={"unplaced"})


_bring_op = _waiting_op()


@_number.register_fake
def _(unplaced: Tensor, module: int, ids: Tensor, learns: bool) -> Tensor:
    return torch.empty_like(ids, dtype=torch.int32)


@_bring_op.register_fake  # type: ignore[untyped-decorator]
def _(unplaced: Tensor, module: int, ids: Tensor, learns: bool, keeps: bool) -> Tensor:
    return torch.empty_like(ids, dtype=torch.int32)


# ---- The module ------------------------------------------------------------------------------------------------------


class Embedding(torch.nn.Module):
    """Rows of arbitrary int64 ids. An id gets a number when it is first seen in training, and `weight`, (capacity + 1, dim), has
    the row of each number. The last row is zero and gets no gradient: it belongs to ids without a number, such as those that
    are first seen in `eval()`.

    capacity: how many ids have a row in `weight`. eviction: "lru" or "lfu": when there are more ids, those used longest ago, or
    least often, give up their rows, which are kept in host memory and come back with their ids; `attach` the optimiser, so
    that its state moves with them. Without eviction further ids have no row, and `unplaced` counts their uses.

    init: function(ids, rows) that fills the rows of new ids, such as `tessera.torch.normal(seed)`. Without it all rows are
    filled at the start from torch's generator, and an id gets the row of its number; with eviction it is normal().

    id_bits: makes one table of several: `forward(ids, tables)` takes the table of each id as well. Ids are then below
    2^id_bits, and tables below 2^(64 - id_bits). max_norm, norm_type, scale_grad_by_freq, sparse: as of torch.nn.Embedding.

    Without `init` and eviction nothing waits for the GPU.
    `state_dict` has ids and rows. See docs/frameworks.md."""

    weight: torch.nn.Parameter
    unplaced: Tensor

    def __init__(
        self,
        capacity: int,
        dim: int,
        *,
        eviction: Optional[str] = None,
        init: Optional[Init] = None,
        id_bits: Optional[int] = None,
        max_norm: Optional[float] = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(capacity, int) or not 1 <= capacity < 1 << 31:
            raise BadArgument(f"capacity = {capacity!r}: is a whole number from 1 to 2^31 - 1")
        if id_bits is not None and not 1 <= id_bits <= 63:
            raise BadArgument(f"id_bits = {id_bits!r}: is a whole number from 1 to 63")
        self.capacity, self.dim, self.eviction, self.id_bits = capacity, dim, eviction, id_bits
        self.init = normal() if init is None and eviction else init
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = (
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
        )
        self.weight = torch.nn.Parameter(torch.zeros((capacity + 1, dim), device=device, dtype=dtype))
        self.register_buffer("unplaced", torch.zeros(1, dtype=torch.int64, device=self.weight.device), persistent=False)
        self._pending = torch.zeros(0 if eviction is None else capacity + 1, dtype=torch.bool)
        self._optimizer: Optional[torch.optim.Optimizer] = None
        self._host = _HostRows(self.weight.device)
        self.index = self._make_index()
        self._fill_unused(0)
        self._register()

    def _register(self) -> None:
        self._handle = next(_handles)
        _modules[self._handle] = self

    def _make_index(self) -> Index:
        device = self.weight.device
        if device.type not in ("cpu", "cuda"):
            raise Unsupported(f"device = {device}: Tessera has tables on cpu and cuda")
        settings: Dict[str, object] = {"table.growth": "none"}
        if device.type == "cuda":
            settings["table.device"] = device.index or 0
        self._pending = self._pending.to(device)
        index = Index(
            "int64",
            capacity=self.capacity,
            numbering="first_seen",
            eviction=self.eviction or "none",
            backend="cuda" if device.type == "cuda" else "cpu",
            settings=settings,
        )
        if device.type == "cuda":
            index.prepare("find", "find_or_insert")  # so that CUDA graphs can have them
        return index

    def _fill_unused(self, start: int) -> None:
        if self.init is None:
            self.weight.detach()[start : self.capacity].normal_()

    def extra_repr(self) -> str:
        return f"{self.capacity}, {self.dim}" + (f", eviction={self.eviction!r}" if self.eviction else "")

    def attach(self, optimizer: torch.optim.Optimizer) -> None:
        """Names the optimiser of `weight`: the rows of its state move with those of the weight. A row that was used since the
        last step has to stay until the next one; where it cannot, forward raises Error."""
        if not any(p is self.weight for group in optimizer.param_groups for p in group["params"]):
            raise BadArgument("optimizer: does not have this module's weight: pass the one that trains it")
        self._optimizer = optimizer
        optimizer.register_step_post_hook(self._end_step)

    def _end_step(self, *_: object) -> None:
        self._pending.zero_()

    @property
    def ids_on_host(self) -> int:
        """How many ids have their rows in host memory."""
        return len(self._host.index)

    def forward(self, ids: Tensor, tables: Optional[Tensor] = None) -> Tensor:
        """(..., dim): the rows of ids (...). tables: (...) or what can be broadcast to it, with id_bits alone."""
        # Not is_exporting(), which Dynamo takes for true while it compiles as well (PyTorch 2.11).
        if getattr(torch.compiler, "_is_exporting_flag", False):
            raise Unsupported(
                "torch.export cannot keep an index, which is memory of this process: export what follows it"
            )
        keys = ids.to(torch.int64)
        if (tables is None) != (self.id_bits is None):
            raise BadArgument(
                "tables: pass the table of each id to an Embedding that was made with id_bits, and to no other"
            )
        if self.id_bits is not None and tables is not None:
            torch._assert_async((keys >> self.id_bits == 0).all())
            keys = keys | tables.to(torch.int64) << self.id_bits
        keys = keys.contiguous()
        if self.init is None:
            numbers = _number(self.unplaced, self._handle, keys, self.training)
        else:
            keeps = torch.is_grad_enabled() and self.weight.requires_grad and self.eviction is not None
            numbers = _bring_op(self.unplaced, self._handle, keys, self.training, keeps)
        return functional.embedding(
            numbers.long() if self.sparse else numbers,
            self.weight,
            self.capacity,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    # ---- Numbers -----------------------------------------------------------------------------------------------------

    def _number(self, unplaced: Tensor, ids: Tensor, learns: bool) -> Tensor:
        """The number of each id, or `capacity`. An index has more slots than rows, so numbers may pass it."""
        index = self.index
        numbers = index.number(ids, wait=False, missing=self.capacity) if learns else index.get(ids, self.capacity)
        numbers.clamp_(max=self.capacity)
        if learns:
            unplaced.add_((numbers == self.capacity).sum())
        return numbers

    def _bring(self, unplaced: Tensor, ids: Tensor, learns: bool, keeps: bool) -> Tensor:
        """The same, where rows of new ids are filled, and come from and go to the host."""
        if keeps and self._optimizer is None:
            raise Unsupported(
                "an Embedding with eviction moves the optimiser's state with its rows: call attach(optimizer) before "
                "training, or weight.requires_grad_(False)"
            )
        flat = ids.reshape(-1)
        if learns:
            numbers = self._numbers_with_rows(unplaced, flat, True)
        elif self.ids_on_host:
            known = self.index.contains(flat) | self._host.index.contains(flat.cpu()).to(flat.device)
            numbers = torch.full_like(flat, self.capacity, dtype=torch.int32)
            numbers[known] = self._numbers_with_rows(unplaced, flat[known], True)
        else:
            numbers = self._number(unplaced, flat, False)
        if keeps:
            self._pending[numbers.long()] = True
        return numbers.reshape(ids.shape)

    def _numbers_with_rows(self, unplaced: Tensor, ids: Tensor, learns: bool) -> Tensor:
        known = self.index.contains(ids)
        numbers = self._number(unplaced, ids, learns)
        torn = self._send_evicted() if self.eviction else 0
        self._fill_new(torch.unique(ids[~known]))
        if torn:
            raise Error(
                f"{torn} ids that were used since the last step had to give up their rows, so their gradients are those of other "
                "ids now: drop the gradients (zero_grad), and use fewer ids between steps, or raise capacity"
            )
        return numbers

    def _arrays(self) -> Dict[str, Tensor]:
        """All that has a row for each number, by the names of _HostRows."""
        made = {"rows": self.weight.detach()}
        state = self._optimizer.state.get(self.weight, {}) if self._optimizer is not None else {}
        for name, value in state.items():
            if torch.is_tensor(value) and value.shape[:1] == self.weight.shape[:1]:
                made[name] = value
        return made

    def _send_evicted(self) -> int:
        """Moves the rows of ids that were given up to the host; how many of them have a gradient that no step has used."""
        ids, numbers = self.index.evicted(like=self.unplaced)
        if not len(ids):
            return 0
        numbers = numbers.long()
        self._host.put(ids.cpu(), {name: array[numbers] for name, array in self._arrays().items()})
        torn = int(self._pending[numbers].sum())
        self._pending[numbers] = False
        return torn

    def _fill_new(self, ids: Tensor) -> None:
        numbers = self.index.get(ids, self.capacity).long()
        ids, numbers = ids[numbers < self.capacity], numbers[numbers < self.capacity]
        if not len(ids):
            return
        arrays = self._arrays()
        there, kept = self._host.take(ids.cpu())
        there = there.to(ids.device)
        for name, array in arrays.items():
            array[numbers[there]] = kept[name].to(array.dtype) if name in kept else 0
        ids, numbers = ids[~there], numbers[~there]
        rows = torch.empty((len(ids), self.dim), device=ids.device, dtype=self.weight.dtype)
        assert self.init is not None
        self.init(ids, rows)
        for name, array in arrays.items():
            if name == "rows":
                array[numbers] = rows
            else:
                array[numbers] = 0

    # ---- Copies, devices, files --------------------------------------------------------------------------------------

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_optimizer": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._register()

    def _apply(self, fn: Any, recurse: bool = True) -> "Embedding":
        before = self.weight.device
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.weight.device != before:
            ids = self._ids(None)
            self._host = self._host.moved(self.weight.device)
            self.index = self._make_index()
            self.index.number(ids.to(self.weight.device), wait=False)
        return self

    def _ids(self, most: Optional[int]) -> Tensor:
        """The ids with the numbers 0, 1, ..., which have no gaps, since none is erased."""
        given = self.index.numbers_given()
        return torch.from_numpy(self.index.keys_by_number(0, given if most is None else min(given, most))[0])

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        ids = self._ids(self.capacity)
        destination[prefix + "ids"] = ids
        destination[prefix + "rows"] = self.weight.detach()[: len(ids)]
        if self.ids_on_host:
            ids, arrays = self._host.all()
            destination[prefix + "host.ids"] = ids
            for name, array in arrays.items():
                destination[f"{prefix}host.{name}"] = array

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: List[str],
        unexpected_keys: List[str],
        error_msgs: List[str],
    ) -> None:
        given = {name[len(prefix) :]: value for name, value in state_dict.items() if name.startswith(prefix)}
        absent = [prefix + name for name in ("ids", "rows") if name not in given]
        missing_keys.extend(absent)
        host = {name[len("host.") :]: given.pop(name) for name in list(given) if name.startswith("host.")}
        if strict:
            unexpected_keys.extend(prefix + name for name in given if name not in ("ids", "rows"))
        if absent:
            return
        ids, rows = given["ids"].to(self.weight.device), given["rows"]
        if rows.shape != (len(ids), self.dim):
            error_msgs.append(f"{prefix}rows: has shape {tuple(rows.shape)}, and {(len(ids), self.dim)} is needed")
        elif not self.eviction and len(ids) + len(host.get("ids", ())) > self.capacity:
            error_msgs.append(f"{prefix}ids: there are {len(ids)} and more on the host, and capacity = {self.capacity}")
        else:
            self._load(ids, rows, host)

    def _load(self, ids: Tensor, rows: Tensor, host: Dict[str, Tensor]) -> None:
        """Numbers are given in the order of ids, so that they are those that were saved where the capacity is the same."""
        self.index.clear()
        self._host = _HostRows(self.weight.device)
        self._pending.zero_()
        n = min(len(ids), self.capacity)
        with torch.no_grad():
            self.index.number(ids[:n])
            self.weight[:n] = rows[:n].to(self.weight.device, self.weight.dtype)
            self._fill_unused(n)
        if host:
            self._host.put(host["ids"].cpu(), {name: array for name, array in host.items() if name != "ids"})
        if n < len(ids):
            self._host.put(ids[n:].cpu(), {"rows": rows[n:]})
        if host and not self.eviction:
            self._unload()

    def _unload(self) -> None:
        """Rows that were saved from the host, into a module that keeps none there."""
        ids, arrays = self._host.all()
        self._host = _HostRows(self.weight.device)
        with torch.no_grad():
            numbers = self.index.number(ids.to(self.weight.device)).long()
            self.weight[numbers] = arrays["rows"].to(self.weight.device, self.weight.dtype)
