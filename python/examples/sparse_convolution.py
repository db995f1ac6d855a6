# SPDX-License-Identifier: Apache-2.0
"""A sparse 3-D convolution: few voxels of a large grid have features, and each looks at its 27 neighbours.

An index numbers the coordinates of the voxels. The kernel map has, for each of the 27 offsets, the number of the voxel there, so
the convolution is one gather and one matrix product per offset. On a GPU if there is one.

python sparse_convolution.py        answers are checked against the same convolution of the dense grid; needs PyTorch
"""

import itertools

import torch

import tessera

BITS = 20  # a coordinate is below 2^19 in size, so that a neighbour's key is that of the voxel plus the offset's


def keys_of(coordinates: torch.Tensor) -> torch.Tensor:
    """(..., 3) whole numbers -> (...) int64."""
    x, y, z = coordinates.to(torch.int64).unbind(-1)
    return (x << 2 * BITS) + (y << BITS) + z


def offsets_of(size: int, device: torch.device) -> torch.Tensor:
    """(size^3, 3): what is added to a voxel's coordinates."""
    reach = range(-(size // 2), size // 2 + 1)
    return torch.tensor(list(itertools.product(reach, repeat=3)), device=device)


def kernel_map(index: tessera.Index, keys: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """(offsets, voxels) int32: the number of the voxel at each offset from each voxel; -1: there is none."""
    return index.get(keys + keys_of(offsets)[:, None], missing=-1)


def convolve(features: torch.Tensor, neighbours: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(voxels, outputs). weights: (offsets, inputs, outputs)."""
    padded = torch.cat([features, features.new_zeros(1, features.shape[1])])  # the last row is that of number -1
    result = features.new_zeros(features.shape[0], weights.shape[2])
    for at, weight in zip(neighbours.long(), weights):
        result += padded[at] @ weight
    return result


def dense(
    coordinates: torch.Tensor, features: torch.Tensor, weights: torch.Tensor, offsets: torch.Tensor, size: int
) -> torch.Tensor:
    """The same by brute force, on a grid of size^3 with a margin."""
    margin = int(offsets.abs().max())
    grid = features.new_zeros(*(3 * [size + 2 * margin]), features.shape[1])
    x, y, z = (coordinates + margin).unbind(-1)
    grid[x, y, z] = features
    result = features.new_zeros(features.shape[0], weights.shape[2])
    for (dx, dy, dz), weight in zip(offsets.tolist(), weights):
        result += grid[x + dx, y + dy, z + dz] @ weight
    return result


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    size, inputs, outputs = 40, 8, 16
    cloud = torch.randn(6000, 3, device=device)
    cloud = (cloud / cloud.norm(dim=1, keepdim=True) * 0.45 + 0.5) * size  # a sphere
    keys, order = torch.unique(keys_of(cloud.long()), return_inverse=True)
    coordinates = torch.empty(len(keys), 3, dtype=torch.int64, device=device)
    coordinates[order] = cloud.long()
    features = torch.randn(len(keys), inputs, device=device)
    offsets = offsets_of(3, device)
    weights = torch.randn(len(offsets), inputs, outputs, device=device)
    with tessera.Index("int64", capacity=len(keys), numbering="first_seen", backend=device.type) as index:
        index.number(keys)
        neighbours = kernel_map(index, keys, offsets)
    got = convolve(features, neighbours, weights)
    want = dense(coordinates, features, weights, offsets, size)
    assert torch.allclose(got, want, atol=1e-3), float((got - want).abs().max())
    known = {int(key): i for i, key in enumerate(keys.tolist())}
    for offset, line in zip(keys_of(offsets).tolist(), neighbours.tolist()):
        assert line == [known.get(key + offset, -1) for key in keys.tolist()]
    found = int((neighbours >= 0).sum())
    print(
        f"{len(keys)} voxels, {found} pairs of neighbours on {neighbours.device.type}; the result is that of the dense grid"
    )


if __name__ == "__main__":
    main()
