# SPDX-License-Identifier: Apache-2.0
"""tessera.torch.Embedding against torch.nn.Embedding whose numbers a dict gives, on the CPU, and on a GPU where there is one.
PyTorch from 2.4 on. EMBEDDING_DEVICES=cuda chooses the devices."""

import copy
import io
import os
import unittest

import numpy as np

import tessera

try:
    import torch

    torch.library.custom_op
    from tessera.torch import Embedding, normal
except (ImportError, AttributeError):
    torch = None

DEVICES = []
if torch is not None:
    DEVICES = os.environ.get("EMBEDDING_DEVICES", "cpu,cuda" if torch.cuda.is_available() else "cpu").split(",")


def ids_of(rng, shape, distinct, device):
    return torch.from_numpy(rng.integers(0, distinct, shape) * 1_000_003 - (1 << 40)).to(device)


class Static:
    """torch.nn.Embedding with a row for each id of a range, filled as `normal(seed)` fills them."""

    def __init__(self, ids, dim, device, seed=0, **options):
        self.at = {int(id): i for i, id in enumerate(ids.tolist())}
        self.rows = torch.nn.Embedding(len(ids), dim, device=device, **options)
        with torch.no_grad():
            normal(seed)(ids, self.rows.weight)

    def __call__(self, ids):
        return self.rows(
            torch.tensor([self.at[int(id)] for id in ids.reshape(-1).tolist()], device=ids.device).reshape(ids.shape)
        )


@unittest.skipIf(torch is None, "PyTorch 2.4 cannot be imported")
class EmbeddingTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.rng = np.random.default_rng(3)

    def close(self, a, b):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)

    def each_device(self):
        for device in DEVICES:
            with self.subTest(device=device):
                yield torch.device(device)

    def test_rows_and_gradients_are_those_of_the_static_one(self):
        for device in self.each_device():
            for sparse in (False, True):
                for dtype in (torch.float32, torch.float16, torch.bfloat16):
                    ids = ids_of(self.rng, (40, 25), 300, device)
                    ours = Embedding(1000, 24, sparse=sparse, device=device, dtype=dtype)
                    got = ours(ids)
                    numbers = ours.index.get(ids).long()
                    static = torch.nn.Embedding(1001, 24, sparse=sparse, device=device, dtype=dtype)
                    static.weight.data.copy_(ours.weight.data)
                    want = static(numbers)
                    self.assertTrue(torch.equal(got, want))
                    scale = torch.randn_like(want)
                    (got * scale).sum().backward()
                    (want * scale).sum().backward()
                    ours_grad, static_grad = ours.weight.grad, static.weight.grad
                    if sparse:
                        self.assertTrue(ours_grad.is_sparse)
                        ours_grad, static_grad = ours_grad.to_dense(), static_grad.to_dense()
                    # sums of several rows, in any order
                    rtol, atol = (1e-5, 1e-5) if dtype == torch.float32 else (3e-2, 3e-2)
                    torch.testing.assert_close(ours_grad, static_grad, rtol=rtol, atol=atol)
                    self.assertEqual(int(ours.unplaced), 0)

    def test_ids_without_a_row(self):
        for device in self.each_device():
            rows = Embedding(50, 4, device=device)
            seen, new = torch.arange(50, device=device), torch.arange(50, 60, device=device)
            self.assertTrue(rows(seen).abs().sum(1).ne(0).all())
            rows.eval()
            self.assertEqual(float(rows(new).detach().abs().sum()), 0)
            self.assertEqual(len(rows.index), 50)
            self.assertEqual(int(rows.unplaced), 0)
            rows.train()
            out = rows(new)
            self.assertEqual(float(out.abs().sum()), 0)
            self.assertEqual(int(rows.unplaced), 10)
            (out.sum() + rows(seen[:1]).sum()).backward()
            self.assertEqual(float(rows.weight.grad[-1].abs().sum()), 0)
            self.assertEqual(float(rows.weight.grad.sum()), 4)
            self.assertEqual(rows(seen[:0]).shape, (0, 4))

    def test_rows_by_seed_and_id(self):
        for device in self.each_device():
            ids = torch.arange(1000, device=device) * 7919 - 3000
            first = Embedding(1000, 33, init=normal(5), device=device)
            second = Embedding(1000, 33, init=normal(5), device=device)
            second(ids.flip(0)[:700])
            self.close(first(ids), second(ids))
            self.assertFalse(torch.equal(first(ids), Embedding(1000, 33, init=normal(6), device=device)(ids)))
            values = first(ids).detach().double()
            self.assertLess(abs(float(values.mean())), 0.03)
            self.assertLess(abs(float(values.std()) - 1), 0.03)
            self.assertLess(abs(float((values[:, :16] * values[:, 17:]).mean())), 0.03)
            self.assertLess(abs(float((values[1:] * values[:-1]).mean())), 0.03)
            calls = []

            def count(ids, rows):
                calls.append(ids.tolist())
                rows.fill_(len(calls))

            rows = Embedding(10, 2, init=count, device=device)
            rows(torch.tensor([3, 1, 3], device=device))
            self.assertEqual(rows(torch.tensor([1, 2, 2], device=device)).tolist(), [[1, 1], [2, 2], [2, 2]])
            rows(torch.tensor([1, 2], device=device))
            self.assertEqual(calls, [[1, 3], [2]])

    def test_evicted_rows_and_their_state_come_back(self):
        """Training with few rows on the device is training with all of them."""
        for device in self.each_device():
            for eviction in ("lru", "lfu"):
                for make, sparse in (
                    (lambda p: torch.optim.SGD(p, lr=0.1), False),
                    (lambda p: torch.optim.Adagrad(p, lr=0.1), False),
                    (lambda p: torch.optim.SparseAdam(p, lr=0.1), True),
                ):
                    ids = torch.arange(200, device=device) * 1_000_003 - (1 << 40)
                    ours = Embedding(64, 12, eviction=eviction, init=normal(9), sparse=sparse, device=device)
                    static = Static(ids, 12, device, 9, sparse=sparse)
                    left, right = make(ours.parameters()), make(static.rows.parameters())
                    ours.attach(left)
                    target = torch.randn(200, 12, device=device)
                    for step in range(40):
                        batch = torch.from_numpy(self.rng.integers(0, 200, (3, 20))).to(device)
                        for rows, optimizer in ((ours, left), (static, right)):
                            optimizer.zero_grad()
                            (rows(ids[batch]) - target[batch]).square().sum().backward()
                            optimizer.step()
                    self.assertGreater(ours.ids_on_host, 100)
                    ours.eval()
                    with torch.no_grad():
                        for part in ids.split(50):
                            self.close(ours(part), static(part))
                        self.assertEqual(float(ours(ids[:1] + 1).abs().sum()), 0)
                    self.assertEqual(float(ours.weight.detach()[-1].abs().sum()), 0)

    def test_rows_in_use_stay_until_the_step(self):
        for device in self.each_device():
            rows = Embedding(8, 4, eviction="lru", device=device)
            with self.assertRaisesRegex(tessera.Unsupported, "call attach"):
                rows(torch.arange(4, device=device))
            with torch.no_grad():
                rows(torch.arange(4, device=device))
            optimizer = torch.optim.SGD(rows.parameters(), lr=1.0)
            with self.assertRaisesRegex(tessera.BadArgument, "does not have this module's weight"):
                rows.attach(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0))
            rows.attach(optimizer)
            for start in (0, 4):
                rows(torch.arange(start, start + 4, device=device)).sum().backward()
            with self.assertRaisesRegex(tessera.Error, "4 ids that were used since the last step"):
                rows(torch.arange(8, 12, device=device))
            optimizer.zero_grad()
            rows(torch.arange(8, 12, device=device)).sum().backward()
            optimizer.step()
            rows(torch.arange(0, 4, device=device))
            with self.assertRaisesRegex(tessera.Unsupported, "9 distinct keys"):
                rows(torch.arange(9, device=device))

    def test_several_tables_in_one(self):
        for device in self.each_device():
            rows = Embedding(1000, 4, id_bits=40, device=device)
            ids = torch.tensor([[5, 6], [5, (1 << 40) - 1]], device=device)
            tables = torch.tensor([[0], [1]], device=device)
            out = rows(ids, tables)
            self.assertEqual(len(rows.index), 4)
            self.assertEqual(int((rows.index.items(like=ids)[0] >> 40).sum()), 2)
            five = torch.tensor(5, device=device)
            for table in (0, 1):
                self.assertTrue(torch.equal(out[table, 0], rows(five, torch.tensor(table, device=device))))
            self.assertFalse(torch.equal(out[0, 0], out[1, 0]))
            with self.assertRaisesRegex(tessera.BadArgument, "tables: pass"):
                rows(ids)
            if device.type == "cpu":  # on a GPU this ends the process's use of it, as with torch.nn.Embedding
                with self.assertRaises(RuntimeError):
                    rows(ids - 6, tables)

    def test_a_state_goes_through_a_file(self):
        for device in self.each_device():
            for eviction in (None, "lru"):
                ids = torch.arange(60, device=device) * 11 - 300
                make = lambda capacity: Embedding(capacity, 8, eviction=eviction, device=device)
                rows = make(40 if eviction else 70)
                optimizer = torch.optim.Adagrad(rows.parameters(), lr=0.1)
                rows.attach(optimizer)

                def train(rows, optimizer, part):
                    optimizer.zero_grad()
                    rows(part).square().sum().backward()
                    optimizer.step()

                for part in (ids.flip(0)[:30], ids[:35], ids[25:]):
                    train(rows, optimizer, part)
                self.assertEqual(rows.ids_on_host, 20 if eviction else 0)
                file = io.BytesIO()
                torch.save((rows.state_dict(), optimizer.state_dict()), file)
                file.seek(0)
                saved, saved_state = torch.load(file, map_location=device)
                again = make(rows.capacity)
                with torch.no_grad():
                    again(ids[:20] + 5)  # ids that it forgets
                again.load_state_dict(saved)
                resumed = torch.optim.Adagrad(again.parameters(), lr=0.1)
                again.attach(resumed)
                resumed.load_state_dict(saved_state)
                train(rows, optimizer, ids[5:40])
                train(again, resumed, ids[5:40])
                for other in (make(100), make(61) if not eviction else make(30)):
                    other.load_state_dict(rows.state_dict())
                    for module in (again, other):
                        self.assertEqual(len(module.index) + module.ids_on_host, 60)
                        for part in ids.split(20):
                            with torch.no_grad():
                                self.assertTrue(torch.equal(module.eval()(part), rows.eval()(part)))
                for module in (again, rows):
                    module.train()

    def test_states_that_do_not_fit(self):
        rows = Embedding(10, 4)
        rows(torch.arange(10))
        with self.assertRaisesRegex(RuntimeError, "capacity = 5"):
            Embedding(5, 4).load_state_dict(rows.state_dict())
        with self.assertRaisesRegex(RuntimeError, r"rows: has shape \(10, 4\)"):
            Embedding(10, 8).load_state_dict(rows.state_dict())
        with self.assertRaisesRegex(RuntimeError, '(?s)Missing key.*"ids", "rows".*Unexpected key.*"weight"'):
            Embedding(10, 8).load_state_dict({"weight": rows.weight})
        with self.assertRaisesRegex(tessera.BadArgument, "capacity = 0"):
            Embedding(0, 8)
        with self.assertRaisesRegex(tessera.BadArgument, "id_bits = 64"):
            Embedding(5, 8, id_bits=64)
        with self.assertRaisesRegex(tessera.Unsupported, "device = meta"):
            Embedding(5, 8, device="meta")

    def test_copies_and_conversions(self):
        for device in self.each_device():
            ids = torch.arange(30, device=device) * 3
            rows = torch.nn.Sequential(Embedding(60, 8, device=device), torch.nn.Linear(8, 2, device=device))
            rows(ids)
            other = copy.deepcopy(rows)
            self.assertTrue(torch.equal(other(ids), rows(ids)))
            other(ids + 1)
            self.assertEqual((len(other[0].index), len(rows[0].index)), (60, 30))
            half = copy.deepcopy(rows).half()[0]
            self.assertTrue(torch.equal(half(ids), rows[0](ids).half()))
            if device.type == "cuda":
                there = rows(ids)
                self.close(rows.cpu()(ids.cpu()), there.cpu())
                self.close(rows.cuda()(ids), there)

    def test_inside_of_compiled_graphs(self):
        for device in self.each_device():
            for backend in ("aot_eager", "inductor") if device.type == "cuda" else ("aot_eager",):
                for options in ({}, {"init": normal(1)}, {"eviction": "lru"}):
                    torch._dynamo.reset()  # or it counts the modules as compilations of one function
                    ids = ids_of(self.rng, 300, 90, device)
                    rows = Embedding(100, 16, device=device, **options)
                    model = torch.nn.Sequential(rows, torch.nn.Linear(16, 1, device=device))
                    optimizer = torch.optim.Adagrad(model.parameters())
                    rows.attach(optimizer)
                    twin = copy.deepcopy(model)
                    twin[0].attach(torch.optim.Adagrad(twin.parameters()))
                    call = torch.compile(model, fullgraph=True, backend=backend)
                    for part in ids.split(100):
                        got, want = call(part), twin(part)
                        self.close(got, want)
                        for module, out in ((model, got), (twin, want)):
                            module.zero_grad()
                            out.square().sum().backward()
                        self.close(rows.weight.grad, twin[0].weight.grad)

    def test_the_operators_are_as_pytorch_wants_them(self):
        for device in self.each_device():
            x = torch.tensor([3, 1, 3], device=device)
            rows, init = Embedding(10, 4, device=device), Embedding(10, 4, init=normal(), device=device)
            library = torch.ops.tessera
            torch.library.opcheck(library.embedding_number.default, (rows.unplaced, rows._handle, x, True))
            torch.library.opcheck(library.embedding_bring.default, (init.unplaced, init._handle, x, True, False))
            with self.assertRaisesRegex(Exception, "torch.export cannot keep an index"):
                torch.export.export(rows, (x,))
            with self.assertRaisesRegex(tessera.BadArgument, "is gone"):
                library.embedding_number(rows.unplaced, 1 << 40, x, True)

    def test_a_cuda_graph(self):
        if "cuda" not in DEVICES:
            self.skipTest("needs a GPU")
        ids = ids_of(self.rng, 4000, 1500, "cuda")
        rows = Embedding(8000, 16, device="cuda")  # room for the ids of all offsets
        held = ids.clone()

        def step():
            rows.weight.grad = None
            rows(held).square().sum().backward()

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        rows.weight.grad = None
        with torch.cuda.graph(graph):
            out = rows(held)
            out.square().sum().backward()
        for offset in (0, 1, 2):
            held.copy_(ids + offset * 7)
            graph.replay()
            torch.cuda.synchronize()
            numbers = rows.index.get(held).long()
            self.assertTrue(torch.equal(out, rows.weight[numbers]))
            self.assertTrue((rows.index.keys_by_number(like=held)[0][numbers] == held).all())
            static = torch.zeros_like(rows.weight).index_add_(0, numbers, 2 * rows.weight.detach()[numbers])
            torch.testing.assert_close(rows.weight.grad, static)
        self.assertEqual(int(rows.unplaced), 0)


if __name__ == "__main__":
    unittest.main()
