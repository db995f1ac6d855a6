# SPDX-License-Identifier: Apache-2.0
"""Arrow's C data interface, as another library of the process hands it out: arrays and streams whose structs contradict
themselves. Wrong lengths, offsets that overflow, no memory, nested types, dictionaries, structs that were taken before, streams
that fail. What is read must be what the memory holds, what is refused is refused with a sentence, and everything that was taken
is released once.

A producer that says less memory than it has, or more, cannot be found out: the memory here is as long as the structs say, and a page
that nobody may read follows it. Read next: drive.py, python/tessera/_arrow.py.
"""

import ctypes
import mmap
from typing import Any, List, Optional, Tuple

import numpy as np
from drive import Input, main, tessera
from tessera import _arrow

PAGE = mmap.PAGESIZE
LONGEST = PAGE  # bytes of a buffer
NUMBERS = {"c": "i1", "S": "u2", "i": "i4", "l": "i8", "L": "u8", "f": "f4", "g": "f8", "tdD": "datetime64[D]", "b": None}
FORMATS: List[Optional[bytes]] = [
    *(form.encode() for form in NUMBERS), b"tsm:UTC", b"u", b"Z", b"+s", b"+l", b"+w:3", b"d:10,2", b"n", b"", None,
]  # fmt: skip
LENGTHS = [0, 1, 2, 3, 7, 8, 9, 64, 100, -1, -(1 << 63), 1 << 60, (1 << 63) - 1]
OFFSETS = [0, 0, 0, 1, 3, 8, 13, -1, -(1 << 63), 1 << 60, (1 << 63) - 1]

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Guarded:
    """A page, behind which nobody may read."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 2 * PAGE)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(self.at + PAGE), ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")

    def put(self, data: bytes, gap: int = 0) -> int:
        at = self.at + PAGE - len(data) - gap
        ctypes.memmove(at, data, len(data))
        return at


PAGES = [(Guarded(), Guarded()) for _ in range(3)]


class Lent:
    """A struct of the producer's, and how often it was released."""

    def __init__(self, kind: Any, has_release: bool = True) -> None:
        self.struct, self.released = kind(), 0
        if has_release:
            self.callback = type(self.struct.release)(self._release)  # outlives the struct's own reference
            self.struct.release = self.callback

    def _release(self, at: Any) -> None:
        self.released += 1
        at.contents.release = type(at.contents.release)()

    def capsule(self, name: bytes) -> Any:
        return _new(ctypes.addressof(self.struct), name, None)

    def check(self) -> None:
        """It was taken and released once, or is still its producer's."""
        assert self.released <= 1, f"{type(self.struct).__name__} was released {self.released} times"
        assert self.released == 1 or self.struct.release or not self.had, f"{type(self.struct).__name__} was lost"

    had = True


def make_schema(given: Input) -> Tuple[Lent, Optional[str]]:
    """A schema, and its format where that can be read."""
    form = given.choose(FORMATS)
    if given.one_in(16):
        form = given.take(given.byte() % 8).partition(b"\0")[0]
        if form.startswith(b"ts") or form.decode(errors="replace") in _arrow._FORMATS:
            form = b"?" + form
    schema = Lent(_arrow.ArrowSchema, not given.one_in(32))
    schema.had = bool(schema.struct.release)
    schema.struct.format = form
    schema.struct.flags = given.byte()
    if given.one_in(16):
        schema.struct.n_children = given.choose((1, -1, 1 << 40))
    encoded = given.one_in(16)
    if encoded:
        schema.words = Lent(_arrow.ArrowSchema)  # type: ignore[attr-defined]
        schema.words.struct.format = b"u"  # type: ignore[attr-defined]
        schema.struct.dictionary = ctypes.pointer(schema.words.struct)  # type: ignore[attr-defined]
    name = (form or b"").decode(errors="replace")
    reads = schema.had and not encoded and (name in NUMBERS or name.startswith("tsm:"))
    return schema, name if reads else None


def make_array(given: Input, form: Optional[str], pages: Tuple[Guarded, Guarded]) -> Tuple[Lent, Any]:
    """An array, and what is to be read: None where it is wrong."""
    array = Lent(_arrow.ArrowArray, not given.one_in(32))
    array.had = bool(array.struct.release)
    count, offset = given.choose(LENGTHS), given.choose(OFFSETS)
    dtype = np.dtype((NUMBERS.get(form) if form in NUMBERS else "datetime64[ms]") or "u1") if form is not None else np.dtype("i8")
    rows = count + offset
    is_sane = 0 <= count <= 128 and 0 <= offset <= 128
    is_bits = form == "b"
    data_bytes = ((rows + 7) // 8 if is_bits else rows * dtype.itemsize) if is_sane else 8
    nulls = given.choose((0, 0, -1, 1, count, count + 1 if count < LENGTHS[-1] else count, -2))
    has_bits, has_data = not given.one_in(3), not given.one_in(16)
    gap = given.choose((0, 0, 0, 1))
    pattern = given.take(16)
    data = (pattern * (data_bytes // 16 + 1))[:data_bytes]
    bits = (pattern[::-1] * 20)[: (rows + 7) // 8 if is_sane else 8]
    buffers = (ctypes.c_void_p * 2)(pages[0].put(bits) if has_bits else None, pages[1].put(data, gap) if has_data else None)
    has_buffers = not given.one_in(32)
    n = given.choose((2, 2, 2, 2, 2, 2, 2, 0, 1, 3, -1))
    array.buffers = buffers  # type: ignore[attr-defined]
    s = array.struct
    s.length, s.offset, s.null_count, s.n_buffers = count, offset, nulls, n
    if has_buffers:
        s.buffers = buffers
    if given.one_in(16):
        s.n_children = given.choose((1, -1, 1 << 40))
    is_right = (
        array.had and is_sane and -1 <= nulls <= count and n == 2 and has_buffers and (has_data or not count)
        and (nulls <= 0 or has_bits)
    )  # fmt: skip
    if form is None or not is_right:
        return array, None
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    known = unpacked[offset : offset + count].astype(bool) if nulls and has_bits else np.ones(count, bool)
    if is_bits:
        values = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[offset : offset + count].astype(bool)
    else:
        values = np.frombuffer(data, dtype)[offset:]
    return array, (values, known) if count else (np.empty(0, bool if is_bits else dtype), known)


class Producer:
    """What another library hands out, and what is to be read of it. wanted: None: it is refused."""

    def __init__(self, given: Input) -> None:
        self.schema, self.form = make_schema(given)
        self.lent, self.wanted = [self.schema], None
        self.by_stream = given.one_in(2)
        if self.by_stream:
            self._make_stream(given)
        else:
            array, self.wanted = make_array(given, self.form, PAGES[0])
            self.lent.append(array)
            self.garbage = given.choose((None, None, None, None, None, None, None, 7, (), (1, 2)))
            swaps = given.one_in(32)
            names = (b"arrow_array", b"arrow_schema") if swaps else (b"arrow_schema", b"arrow_array")
            self.capsules: Any = tuple(lent.capsule(name) for lent, name in zip(self.lent, names))
            if self.garbage is not None:
                self.capsules = self.garbage
            if self.garbage is not None or swaps or not (self.schema.had and array.had):
                self.wanted = None

    def _make_stream(self, given: Input) -> None:
        made = [make_array(given, self.form, PAGES[i]) for i in range(given.byte() % 4)]
        chunks = [array for array, _ in made]
        ends = next((i for i, array in enumerate(chunks) if not array.had), len(chunks))  # a released array ends it
        fails = given.choose((None,) * 9 + (0, 1, 2, 3))
        why = given.choose((None, b"no more", b"\xff\xfe", b""))
        schema_fails = given.choose((0,) * 15 + (5,))
        stream = Lent(_arrow.ArrowStream, not given.one_in(32))
        stream.had = bool(stream.struct.release)
        self.schema.asked = False  # type: ignore[attr-defined]
        self.next = 0
        fields = dict(_arrow.ArrowStream._fields_)

        def get_schema(at: Any, out: Any) -> int:
            if not schema_fails:
                out[0] = self.schema.struct
                self.schema.struct.release = type(self.schema.struct.release)()
                self.schema.asked = True  # type: ignore[attr-defined]
            return schema_fails

        def get_next(at: Any, out: Any) -> int:
            if self.next == fails:
                return 28
            ctypes.memset(out, 0, ctypes.sizeof(_arrow.ArrowArray))
            if self.next < ends:
                out[0] = chunks[self.next].struct
                chunks[self.next].struct.release = type(chunks[self.next].struct.release)()
                self.next += 1
            return 0

        self.why = None if why is None else ctypes.create_string_buffer(why)
        address = None if why is None else ctypes.addressof(self.why)  # type: ignore[arg-type]
        self.last_error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda at: address)
        get_last_error = ctypes.cast(self.last_error, fields["get_last_error"])
        self.functions = fields["get_schema"](get_schema), fields["get_next"](get_next), get_last_error
        has = [not given.one_in(32) for _ in range(3)]
        for name, function, is_there in zip(("get_schema", "get_next", "get_last_error"), self.functions, has):
            if is_there:
                setattr(stream.struct, name, function)
        self.capsules = stream.capsule(b"arrow_array_stream")
        self.lent += [stream, *chunks]
        read = [wanted for _, wanted in made[:ends]]
        is_read = stream.had and all(has[:2]) and not schema_fails and (fails is None or fails > ends)
        if is_read and self.form is not None and all(wanted is not None for wanted in read):
            none = (np.empty(0, np.int64), np.empty(0, bool))
            values, known = zip(*read) if read else ([none[0]], [none[1]])  # type: ignore[misc]
            self.wanted = np.concatenate(values), np.concatenate(known)

    def __getattribute__(self, name: str) -> Any:
        if name == "__arrow_c_array__" and self.by_stream:
            raise AttributeError(name)
        return super().__getattribute__(name)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.capsules

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.capsules


def refused(call: Any) -> bool:
    """Whether it is refused, with a sentence that begins with its name."""
    try:
        call()
    except tessera.Error as error:
        said = str(error)
        assert said.startswith("x: ") and len(said) > 20, said
        return True
    return False


def read(producer: Producer) -> None:
    """Reads it once, and then again, when it was taken before."""
    got: List[Any] = []
    was_refused = refused(lambda: got.append(_arrow.read_column(producer, "x")))
    assert was_refused == (producer.wanted is None), f"refused: {was_refused}, is to be: {producer.wanted is None}"
    if got:
        values, known = got.pop()
        want_values, want_known = producer.wanted  # type: ignore[misc]
        if len(want_values):
            assert values.dtype == want_values.dtype
        assert values.tobytes() == want_values.tobytes() and len(values) == len(want_known)
        assert (np.ones(len(values), bool) if known is None else known).tolist() == want_known.tolist()
        assert values.ctypes.data % values.dtype.itemsize == 0
        del values, known
        assert refused(lambda: _arrow.read_column(producer, "x")), "what was taken is read again"


def export_twice(given: Input) -> None:
    """A consumer that is careless with what tessera.Arrow hands out: copies of structs, each of which it releases."""
    columns = {"k": np.arange(given.byte() % 9), "b": np.zeros(0)} if given.one_in(2) else np.arange(given.byte() % 9)
    if isinstance(columns, dict):
        columns["b"] = np.ones(len(columns["k"]), bool)
    out = tessera.Arrow(columns)
    capsule = out.__arrow_c_stream__()
    owner = _arrow._taken(_arrow._source(capsule, b"arrow_array_stream", _arrow.ArrowStream, "x"))
    stream = owner.struct
    twin = _arrow.ArrowStream()
    ctypes.memmove(ctypes.byref(twin), ctypes.byref(stream), ctypes.sizeof(twin))
    arrays: List[Any] = []
    for _ in range(given.byte() % 8):
        array, schema = _arrow.ArrowArray(), _arrow.ArrowSchema()
        step = given.byte() % 4
        if step == 0:
            assert stream.get_next(ctypes.byref(stream), ctypes.byref(array)) in (0, 22)
            arrays.append(array)
        elif step == 1 and stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0:
            arrays.append(schema)
        elif step == 2 and arrays:
            copy = type(arrays[0])()
            ctypes.memmove(ctypes.byref(copy), ctypes.byref(arrays[0]), ctypes.sizeof(copy))
            arrays.append(copy)
        elif step == 3:
            twin.release(ctypes.byref(twin)) if twin.release else None
    for struct in [*arrays, stream, twin]:
        if struct.release:
            struct.release(ctypes.byref(struct))


def test_one_input(data: bytes) -> None:
    given = Input(data)
    if given.byte() % 8 == 7:
        export_twice(given)
        return
    producer = Producer(given)
    read(producer)
    for lent in producer.lent:
        # what a stream holds back is its own until it is released
        if not (producer.by_stream and lent not in producer.lent[1:2] and lent.struct.release):
            lent.check()


if __name__ == "__main__":
    main(test_one_input)
