# SPDX-License-Identifier: Apache-2.0
"""A process of a tessera.Group: group_ranks.py mpi4py | torch RANK SIZE FILE | path RANK SIZE ID.

wheel_test.sh starts them. Each prints one line if all is right."""

import sys

import numpy as np

import tessera

SPEC = dict(kind="map", key_bits=32, value_bits=32, layout="packed", probing="cuckoo", hasher="murmur3", backend="cpu")


def group_of(how, arguments):
    if how == "mpi4py":
        return tessera.Group.from_mpi4py(limit_s=10)
    rank, size, place = int(arguments[0]), int(arguments[1]), arguments[2]
    if how == "path":
        return tessera.Group(rank, size, place, limit_s=10)
    import torch.distributed

    torch.distributed.init_process_group("gloo", init_method="file://" + place, rank=rank, world_size=size)
    return tessera.Group.from_torch(limit_s=10)


def check(group):
    count = 20000
    keys = (np.arange(count, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32)
    with tessera.Table({"table": dict(SPEC, capacity=count)}, group=group) as table:
        mine = keys[group.rank :: group.size].copy()
        table.insert(mine, np.arange(group.rank, count, group.size, dtype=np.uint32))
        table.insert(keys[: 5 if group.rank == 0 else 0], keys[: 5 if group.rank == 0 else 0])
        assert len(table) == count
        assert np.array_equal(table.get(keys), np.arange(count))
        found, values = table.items()
        assert np.array_equal(found, keys[values])
        assert table.erase(keys[:0] if group.rank else keys[:100]) is not None
        assert len(table) == count - 100
    # what fails in one fails in all, with its reason
    table = tessera.Table({"table": dict(SPEC, capacity=1000)}, group=group)
    try:
        group.close()
        raise AssertionError("the group was closed with a table")
    except tessera.Busy:
        pass
    try:
        tessera.Table({"table": dict(SPEC, capacity=2**40 if group.rank == 1 else 1000)}, group=group)
        raise AssertionError("a table without memory")
    except tessera.NoMemory as error:
        assert (group.rank == 1) != str(error).startswith("rank 1: "), error
    try:
        len(table)
        raise AssertionError("the group is not broken")
    except tessera.Error:
        pass
    table.close()
    group.close()
    assert repr(group) == f"<tessera.Group: rank {group.rank} of {group.size}, closed>"


group = group_of(sys.argv[1], sys.argv[2:])
check(group)
sys.stdout.write(f"rank {group.rank} of {group.size} is right\n")  # in one piece, among those of other ranks
