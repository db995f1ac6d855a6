# SPDX-License-Identifier: Apache-2.0
"""Which row of an embedding belongs to each of a batch of arbitrary 64-bit ids? A look-up for PyTorch, on its GPU if there
is one, between tensors that stay there; ids that nobody knows get row 0.

python embedding.py        answers are checked against a dict; needs PyTorch
"""

import torch

import tessera


def table_of(ids: torch.Tensor, backend: str) -> tessera.Table:
    """Rows 1, 2, ... for these ids. ids: (n) int64."""
    table = tessera.Table(tessera.recipe("best_find_64"), settings={"table.backend": backend}, capacity=len(ids))
    table.insert(ids, torch.arange(1, len(ids) + 1, device=ids.device))
    return table


def main() -> None:
    device, backend = ("cuda", "cuda") if torch.cuda.is_available() else ("cpu", "cpu")
    ids = torch.randperm(1 << 20, device=device)[:50_000] * 1_000_003 - (1 << 39)  # negative ones as well
    embedding = torch.nn.Embedding(len(ids) + 1, 16, padding_idx=0, device=device)
    known = ids[torch.randint(len(ids), (500, 31), device=device)]
    batch = torch.cat([known, torch.full((500, 1), 5, device=device)], 1)
    with table_of(ids, backend) as table:
        vectors = embedding(table.get(batch))  # (500, 32, 16)
    rows = {number: i + 1 for i, number in enumerate(ids.tolist())}
    want = torch.tensor([[rows.get(i, 0) for i in line] for line in batch.tolist()], device=device)
    assert torch.equal(vectors, embedding(want)) and not vectors[:, 31].any()
    print(f"{batch.numel()} ids looked up, {known.numel()} of them known, on {vectors.device}; rows as a dict has them")


if __name__ == "__main__":
    main()
