# SPDX-License-Identifier: Apache-2.0
"""Trains rows for arbitrary 64-bit ids, with fewer rows on the device than there are ids: which items does a user like?

Users and items are in one table, which a column of the key tells apart. Rows of ids that were used longest ago are kept in host
memory, with the optimiser's state, until their ids return.

python train_embedding.py        the loss is compared with that of torch.nn.Embedding; needs PyTorch 2.4
"""

import torch

import tessera.torch

USERS, ITEMS, DIM, STEPS = 800, 150, 4, 200


class Likes(torch.nn.Module):
    """The score of a user and an item: the product of their rows."""

    def __init__(self, rows: torch.nn.Module) -> None:
        super().__init__()
        self.rows = rows

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        ids = torch.stack([users, items])
        tables = torch.tensor([[0], [1]], device=ids.device)
        users, items = self.rows(ids, tables)
        return (users * items).sum(-1)


class Static(torch.nn.Module):
    """The same with a row for every user and item, for ids whose numbers are known."""

    def __init__(self, number: torch.Tensor, rows: torch.Tensor) -> None:
        super().__init__()
        self.number, self.rows = number, torch.nn.Embedding.from_pretrained(rows, freeze=False)

    def forward(self, ids: torch.Tensor, tables: torch.Tensor) -> torch.Tensor:
        return self.rows(torch.searchsorted(self.number, tables << 40 | ids))  # type: ignore[no-any-return]


def train(model: Likes, optimizer: torch.optim.Optimizer, batches: "list[tuple[torch.Tensor, ...]]") -> float:
    """The mean loss of the last tenth of the batches."""
    losses = []
    for users, items, likes in batches:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(users, items), likes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return float(torch.stack(losses[-len(losses) // 10 :]).mean())


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    users = torch.randint(1 << 40, (USERS,), device=device).unique()
    items = torch.randint(1 << 40, (ITEMS,), device=device).unique()
    taste, kind = torch.randn(len(users), DIM, device=device), torch.randn(len(items), DIM, device=device)
    batches = []
    for _ in range(STEPS):
        user = torch.randint(len(users), (192,), device=device)
        item = torch.randint(len(items), (192,), device=device)
        batches.append((users[user], items[item], ((taste[user] * kind[item]).sum(-1) > 0).float()))

    init = tessera.torch.normal(seed=1, std=0.5)
    rows = tessera.torch.Embedding(500, DIM, eviction="lru", init=init, id_bits=40, device=device)
    model = Likes(rows)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.5)
    rows.attach(optimizer)
    loss = train(model, optimizer, batches)

    keys = torch.cat([users, items | 1 << 40]).sort().values
    filled = torch.empty(len(keys), DIM, device=device)
    init(keys, filled)
    static = Likes(Static(keys, filled))
    want = train(static, torch.optim.Adagrad(static.parameters(), lr=0.5), batches)
    assert abs(loss - want) < 1e-3 and loss < 0.55, (loss, want)
    print(
        f"{len(rows.index)} rows on {rows.weight.device.type}, {rows.ids_on_host} on the host; "
        f"the loss is {loss:.3f}, as with torch.nn.Embedding"
    )


if __name__ == "__main__":
    main()
