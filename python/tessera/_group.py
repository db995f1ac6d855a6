# SPDX-License-Identifier: Apache-2.0
"""Groups of processes that share tables, started by mpi4py, by torch.distributed, or by hand."""

import ctypes
import os
import time
import weakref
from ctypes import byref, c_uint32, c_void_p
from datetime import timedelta
from typing import Any, Callable, List, Optional, Tuple, Union

from tessera import _library as lib
from tessera._library import Busy, Closed, library

_PIECE_BYTES = 1 << 30  # MPI counts in int
_Bytes = Any  # a ctypes array over the library's memory
# Sends bytes to each rank and receives from each, as lists of (rank, bytes); may give up after a number of seconds.
_Exchange = Callable[[List[Tuple[int, _Bytes]], List[Tuple[int, _Bytes]], float], None]

_EXCHANGE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    c_void_p,
    ctypes.POINTER(c_void_p),
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(c_void_p),
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.c_double,
    ctypes.POINTER(lib.TsrError),
)


class _Communicator(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("rank", c_uint32),
        ("ranks", c_uint32),
        ("context", c_void_p),
        ("exchange", _EXCHANGE),
        ("close", c_void_p),
    ]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("limit_s", ctypes.c_double), ("late_s", ctypes.c_double)]


def _pieces(ranks: int, addresses: Any, sizes: Any) -> List[Tuple[int, _Bytes]]:
    pieces = []
    for rank in range(ranks):
        for first in range(0, sizes[rank], _PIECE_BYTES):
            count = min(_PIECE_BYTES, sizes[rank] - first)
            pieces.append((rank, (ctypes.c_ubyte * count).from_address(addresses[rank] + first)))
    return pieces


def _callback(ranks: int, exchange: _Exchange) -> Any:
    def call(_: Any, out: Any, out_bytes: Any, to: Any, in_bytes: Any, limit_s: float, error: Any) -> int:
        try:
            exchange(_pieces(ranks, out, out_bytes), _pieces(ranks, to, in_bytes), limit_s)
            return 0
        except BaseException as failure:  # it must not pass through C
            error[0].status = lib.IoFailed.status
            error[0].message = f"{type(failure).__name__}: {failure}".replace("\n", " ").encode()[:1000]
            return lib.IoFailed.status

    return _EXCHANGE(call)


class Group:
    """Processes that share tables, each with a shard on its CPU or a GPU of its own: `Table(spec, group=group)`.

    All processes make the same calls on the group and its tables in the same order, each with its own number of items,
    which may be 0. A call that fails in one process fails in all; then the group is broken. Close its tables first, then
    the group, in all processes. `close` of a table waits, at most limit_s, until the other processes of this host close theirs.

    rank, size: of this process, and how many there are, at most 64. id: where they meet, a path on one machine or
    tcp://HOST:PORT of rank 0's machine. limit_s: how long a process may be silent (60 s). late_s: how long one that is
    alive may take to make the same call (10 times limit_s).
    """

    def __init__(self, rank: int, size: int, id: "Union[str, os.PathLike[str]]", *, limit_s: float = 0, late_s: float = 0):
        self._begin(limit_s, late_s)
        self._check(
            library.tsr_group_create(
                rank, size, lib.path_bytes(id), byref(self._options), byref(self._handle), byref(self._error)
            )
        )
        self.rank, self.size = rank, size

    @classmethod
    def from_mpi4py(cls, communicator: Any = None, *, limit_s: float = 0, late_s: float = 0) -> "Group":
        """The processes of a communicator of mpi4py, which is duplicated; None: MPI.COMM_WORLD. MPI carries all."""
        from mpi4py import MPI

        own = (communicator or MPI.COMM_WORLD).Dup()

        def exchange(sends: List[Tuple[int, _Bytes]], receives: List[Tuple[int, _Bytes]], limit: float) -> None:
            requests = [own.Irecv([piece, MPI.BYTE], source=rank) for rank, piece in receives]
            requests += [own.Isend([piece, MPI.BYTE], dest=rank) for rank, piece in sends]
            until = time.monotonic() + limit
            naps = 0
            while not MPI.Request.Testall(requests):
                if time.monotonic() > until:
                    raise TimeoutError(f"a message has not passed within {limit:g} s (late_s)")
                naps += 1
                time.sleep(0 if naps < 200 else 5e-5)

        return cls._over(own.Get_rank(), own.Get_size(), exchange, own.Free, limit_s, late_s)

    @classmethod
    def from_torch(cls, group: Any = None, *, limit_s: float = 0, late_s: float = 0) -> "Group":
        """The processes of a group of torch.distributed; None: all. Gloo carries host memory; for a group of another
        backend, such as NCCL, a Gloo group of the same processes is made, so all of them call this."""
        import torch
        import torch.distributed as distributed

        rank, size = distributed.get_rank(group), distributed.get_world_size(group)
        if group is None:
            globals_of = list(range(size))
        else:
            of = getattr(distributed, "get_global_rank", None) or distributed.distributed_c10d.get_global_rank
            globals_of = [of(group, one) for one in range(size)]
        own = group
        if distributed.get_backend(group) != "gloo":
            own = distributed.new_group(globals_of, backend="gloo")

        def exchange(sends: List[Tuple[int, _Bytes]], receives: List[Tuple[int, _Bytes]], limit: float) -> None:
            works = [
                distributed.irecv(torch.frombuffer(piece, dtype=torch.uint8), src=globals_of[one], group=own)
                for one, piece in receives
            ]
            works += [
                distributed.isend(torch.frombuffer(piece, dtype=torch.uint8), dst=globals_of[one], group=own)
                for one, piece in sends
            ]
            for work in works:
                work.wait(timedelta(seconds=limit))

        return cls._over(rank, size, exchange, lambda: None, limit_s, late_s)

    @classmethod
    def _over(
        cls, rank: int, size: int, exchange: _Exchange, free: Callable[[], None], limit_s: float, late_s: float
    ) -> "Group":
        group = cls.__new__(cls)
        group._begin(limit_s, late_s)
        group._free = free
        group._exchange = _callback(size, exchange)
        communicator = _Communicator(ctypes.sizeof(_Communicator), rank, size, None, group._exchange, None)
        group._check(
            library.tsr_group_create_over(
                byref(communicator), byref(group._options), byref(group._handle), byref(group._error)
            )
        )
        group.rank, group.size = rank, size
        return group

    # ---- Its life ----------------------------------------------------------------------------------------------------

    def _begin(self, limit_s: float, late_s: float) -> None:
        self._handle: Optional[c_void_p] = c_void_p()
        self._error = lib.TsrError()
        self._options = _Options(ctypes.sizeof(_Options), limit_s, late_s)
        self._free: Callable[[], None] = lambda: None
        self._exchange: Any = None  # kept alive as long as the library may call it
        self._tables: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self.rank = self.size = 0

    def _check(self, status: int) -> None:
        if status:
            self._handle = None
            self._free()
            lib.fail(self._error)

    def _use(self) -> c_void_p:
        if self._handle is None:
            raise Closed("the group is closed")
        return self._handle

    def close(self) -> None:
        """Ends the group; all processes call it. Closing twice is fine."""
        if self._handle is None:
            return
        if any(table._handle is not None for table in self._tables):
            raise Busy("a table of the group is open: close its tables first")
        handle, self._handle = self._handle, None
        library.tsr_group_destroy(handle)
        self._free()

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        if kind is not None:  # the exception is what the caller is to see
            for table in list(self._tables):
                table.close()
        self.close()

    def __repr__(self) -> str:
        return f"<tessera.Group: rank {self.rank} of {self.size}{', closed' if self._handle is None else ''}>"
