// SPDX-License-Identifier: Apache-2.0
//
// What CUB does without a table: it sorts the keys and combines neighbours. A set is unique, a counter is run-length encode,
// a map with duplicates = add, min or max is a group-by. An index is unique as well: for the inverse the positions of the keys
// are sorted with them. A find is a binary search, and a join one for each key.
#include <cuda_runtime.h>
#include <tessera_rival.h>

#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

constexpr int block = 256;

// A buffer on the device, which only ever grows: what is timed finds the memory of the warm-up.
struct Buffer {
  void *memory = nullptr;
  size_t bytes = 0;
  ~Buffer() { cudaFree(memory); }
  cudaError_t reserve(size_t wanted) {
    if (wanted <= bytes) return cudaSuccess;
    cudaFree(memory);
    memory = nullptr;
    bytes = 0;
    const cudaError_t status = cudaMalloc(&memory, wanted);
    if (status == cudaSuccess) bytes = wanted;
    return status;
  }
};

template <class Key>
__device__ uint64_t lower_bound(const Key *keys, uint64_t n, Key key) {
  uint64_t low = 0, high = n;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class Key, class Value>
__global__ void find_kernel(const Key *held, const Value *held_values, const uint64_t *held_count, uint64_t n,
                            const Key *keys, Value *values, Value missing) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x, count = *held_count;
  if (i >= n) return;
  const uint64_t at = lower_bound(held, count, keys[i]);
  const bool is_there = at < count && held[at] == keys[i];
  values[i] = !is_there ? missing : held_values ? held_values[at] : Value{1};
}

template <class Key>
__global__ void join_kernel(const Key *left, const uint64_t *left_count, const Key *right, const uint64_t *right_count,
                            unsigned long long *matches) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x, count = *right_count;
  bool is_there = false;
  if (i < *left_count) {
    const uint64_t at = lower_bound(right, count, left[i]);
    is_there = at < count && right[at] == left[i];
  }
  const int in_block = __syncthreads_count(is_there);
  if (threadIdx.x == 0 && in_block) atomicAdd(matches, static_cast<unsigned long long>(in_block));
}

// Whether a sorted key is another one than the key before it.
template <class Key>
struct IsFirst {
  const Key *keys;
  __device__ uint32_t operator()(uint64_t i) const { return i == 0 || keys[i] != keys[i - 1]; }
};

__global__ void positions_kernel(uint64_t n, uint32_t *positions) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i < n) positions[i] = static_cast<uint32_t>(i);
}

// ranks: of each sorted key, how many distinct keys there are up to it.
template <class Key>
__global__ void number_kernel(uint64_t n, const Key *sorted, const uint32_t *positions, const uint32_t *ranks,
                              Key *distinct_keys, uint32_t *inverse, uint64_t *distinct) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  inverse[positions[i]] = ranks[i] - 1;
  if (IsFirst<Key>{sorted}(i)) distinct_keys[ranks[i] - 1] = sorted[i];
  if (i == n - 1) *distinct = ranks[i];
}

struct Last {
  template <class Value>
  __device__ Value operator()(const Value &, const Value &later) const {
    return later;
  }
};

struct Table {
  virtual ~Table() = default;
  virtual cudaError_t clear(cudaStream_t stream) = 0;
  virtual cudaError_t insert(uint64_t n, const void *keys, const void *values, cudaStream_t stream) = 0;
  virtual cudaError_t find(uint64_t n, const void *keys, void *values, uint64_t missing, cudaStream_t stream) = 0;
  virtual cudaError_t join(Table *other, uint64_t *matches, cudaStream_t stream) = 0;
  virtual cudaError_t count(uint64_t *keys, cudaStream_t stream) = 0;
  virtual cudaError_t unique(uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse,
                             cudaStream_t stream) = 0;
  virtual uint64_t bytes() const = 0;
};

template <class Key, class Value>
class Sorted : public Table {
  const tsr_rival_shape shape;
  uint64_t offered = 0; // of the insert: no fewer than the table has
  Buffer keys_, values_, sorted_keys, sorted_values, number, scratch, positions, ranks;

  uint64_t *held() { return static_cast<uint64_t *>(number.memory); }
  // With distinct keys nothing is combined: the table is what was sorted.
  bool is_sorted_only() const { return shape.kind == TSR_RIVAL_MAP && shape.merge == TSR_RIVAL_DISTINCT; }
  const Key *table_keys() { return static_cast<const Key *>(is_sorted_only() ? sorted_keys.memory : keys_.memory); }
  const Value *table_values() {
    return static_cast<const Value *>(shape.kind == TSR_RIVAL_SET ? nullptr
                                      : is_sorted_only()          ? sorted_values.memory
                                                                  : values_.memory);
  }

  // CUB's way: the first call says how much memory the second needs.
  template <class Call>
  cudaError_t run(Call call) {
    size_t bytes = 0;
    cudaError_t status = call(nullptr, bytes);
    if (status == cudaSuccess) status = scratch.reserve(bytes);
    return status == cudaSuccess ? call(scratch.memory, bytes) : status;
  }

  template <class Operator>
  cudaError_t reduce(uint64_t n, Operator combine, cudaStream_t stream) {
    return run([&](void *memory, size_t &bytes) {
      return cub::DeviceReduce::ReduceByKey(
          memory, bytes, static_cast<const Key *>(sorted_keys.memory), static_cast<Key *>(keys_.memory),
          static_cast<const Value *>(sorted_values.memory), static_cast<Value *>(values_.memory), held(), combine,
          static_cast<int64_t>(n), stream);
    });
  }

  cudaError_t combine(uint64_t n, cudaStream_t stream) {
    const Key *from = static_cast<const Key *>(sorted_keys.memory);
    Key *to = static_cast<Key *>(keys_.memory);
    if (shape.kind == TSR_RIVAL_SET)
      return run([&](void *memory, size_t &bytes) {
        return cub::DeviceSelect::Unique(memory, bytes, from, to, held(), static_cast<int64_t>(n), stream);
      });
    if (shape.kind == TSR_RIVAL_COUNTER)
      return run([&](void *memory, size_t &bytes) {
        return cub::DeviceRunLengthEncode::Encode(memory, bytes, from, to, static_cast<Value *>(values_.memory), held(),
                                                  static_cast<int64_t>(n), stream);
      });
    switch (shape.merge) {
    case TSR_RIVAL_ADD:
      return reduce(n, cuda::std::plus<Value>{}, stream);
    case TSR_RIVAL_MIN:
      return reduce(n, cuda::minimum<Value>{}, stream);
    case TSR_RIVAL_MAX:
      return reduce(n, cuda::maximum<Value>{}, stream);
    case TSR_RIVAL_KEEP_LAST:
      return reduce(n, Last{}, stream);
    default:
      return run([&](void *memory, size_t &bytes) {
        return cub::DeviceSelect::UniqueByKey(memory, bytes, from, static_cast<const Value *>(sorted_values.memory), to,
                                              static_cast<Value *>(values_.memory), held(), static_cast<int64_t>(n),
                                              stream);
      });
    }
  }

  cudaError_t reserve(uint64_t n) {
    const size_t key = n * sizeof(Key), value = shape.kind == TSR_RIVAL_SET ? 0 : n * sizeof(Value);
    cudaError_t status = sorted_keys.reserve(key);
    if (status == cudaSuccess && shape.kind == TSR_RIVAL_MAP) status = sorted_values.reserve(value);
    if (status == cudaSuccess && !is_sorted_only()) status = keys_.reserve(key);
    if (status == cudaSuccess && !is_sorted_only()) status = values_.reserve(value);
    return status;
  }

public:
  explicit Sorted(const tsr_rival_shape &wanted) : shape(wanted) {}

  uint64_t bytes() const override {
    return keys_.bytes + values_.bytes + sorted_keys.bytes + sorted_values.bytes + scratch.bytes + number.bytes +
           positions.bytes + ranks.bytes;
  }

  cudaError_t clear(cudaStream_t stream) override {
    offered = 0;
    const cudaError_t status = number.reserve(2 * sizeof(uint64_t)); // and one for the matches of a join
    return status == cudaSuccess ? cudaMemsetAsync(number.memory, 0, sizeof(uint64_t), stream) : status;
  }

  cudaError_t insert(uint64_t n, const void *keys, const void *values, cudaStream_t stream) override {
    if (offered) return cudaErrorNotSupported;
    offered = n;
    cudaError_t status = reserve(n);
    if (status != cudaSuccess) return status;
    status = run([&](void *memory, size_t &bytes) {
      Key *to = static_cast<Key *>(sorted_keys.memory);
      return shape.kind == TSR_RIVAL_MAP
                 ? cub::DeviceRadixSort::SortPairs(memory, bytes, static_cast<const Key *>(keys), to,
                                                   static_cast<const Value *>(values),
                                                   static_cast<Value *>(sorted_values.memory), static_cast<int64_t>(n),
                                                   0, int{sizeof(Key) * 8}, stream)
                 : cub::DeviceRadixSort::SortKeys(memory, bytes, static_cast<const Key *>(keys), to,
                                                  static_cast<int64_t>(n), 0, int{sizeof(Key) * 8}, stream);
    });
    if (status != cudaSuccess) return status;
    if (!is_sorted_only()) return combine(n, stream);
    return cudaMemcpyAsync(number.memory, &offered, sizeof offered, cudaMemcpyHostToDevice, stream);
  }

  cudaError_t find(uint64_t n, const void *keys, void *values, uint64_t missing, cudaStream_t stream) override {
    find_kernel<<<static_cast<unsigned>((n + block - 1) / block), block, 0, stream>>>(
        table_keys(), table_values(), held(), n, static_cast<const Key *>(keys), static_cast<Value *>(values),
        static_cast<Value>(missing));
    return cudaGetLastError();
  }

  cudaError_t join(Table *other, uint64_t *matches, cudaStream_t stream) override {
    auto *right = static_cast<Sorted *>(other);
    auto *sum = reinterpret_cast<unsigned long long *>(held() + 1);
    cudaMemsetAsync(sum, 0, sizeof *sum, stream);
    join_kernel<<<static_cast<unsigned>((offered + block - 1) / block), block, 0, stream>>>(
        table_keys(), held(), right->table_keys(), right->held(), sum);
    cudaMemcpyAsync(matches, sum, sizeof *matches, cudaMemcpyDeviceToHost, stream);
    return cudaStreamSynchronize(stream);
  }

  // The position of each key is sorted with it.
  cudaError_t number_all(int64_t n, const Key *keys, Key *distinct_keys, uint32_t *inverse, cudaStream_t stream) {
    cudaError_t status = positions.reserve(2 * sizeof(uint32_t) * static_cast<size_t>(n));
    if (status == cudaSuccess) status = ranks.reserve(sizeof(uint32_t) * static_cast<size_t>(n));
    if (status != cudaSuccess) return status;
    uint32_t *from = static_cast<uint32_t *>(positions.memory), *to = from + n,
             *rank = static_cast<uint32_t *>(ranks.memory);
    Key *sorted = static_cast<Key *>(sorted_keys.memory);
    const auto blocks = static_cast<unsigned>((n + block - 1) / block);
    positions_kernel<<<blocks, block, 0, stream>>>(static_cast<uint64_t>(n), from);
    status = run([&](void *memory, size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, sorted, from, to, n, 0, int{sizeof(Key) * 8}, stream);
    });
    const auto firsts = thrust::make_transform_iterator(thrust::counting_iterator<uint64_t>(0), IsFirst<Key>{sorted});
    if (status == cudaSuccess)
      status = run([&](void *memory, size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(memory, bytes, firsts, rank, n, stream);
      });
    if (status != cudaSuccess) return status;
    number_kernel<<<blocks, block, 0, stream>>>(static_cast<uint64_t>(n), sorted, to, rank, distinct_keys, inverse,
                                                held());
    return cudaGetLastError();
  }

  cudaError_t unique(uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse,
                     cudaStream_t stream) override {
    const Key *from = static_cast<const Key *>(keys);
    const auto count = static_cast<int64_t>(n);
    Key *to = static_cast<Key *>(distinct_keys);
    cudaError_t status = sorted_keys.reserve(n * sizeof(Key));
    if (status != cudaSuccess) return status;
    Key *sorted = static_cast<Key *>(sorted_keys.memory);
    if (inverse) status = number_all(count, from, to, inverse, stream);
    if (!inverse)
      status = run([&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, from, sorted, count, 0, int{sizeof(Key) * 8}, stream);
      });
    if (status != cudaSuccess || (inverse && !counts)) return status;
    return run([&](void *memory, size_t &bytes) {
      return counts ? cub::DeviceRunLengthEncode::Encode(memory, bytes, sorted, to, counts, held(), count, stream)
                    : cub::DeviceSelect::Unique(memory, bytes, sorted, to, held(), count, stream);
    });
  }

  cudaError_t count(uint64_t *keys, cudaStream_t stream) override {
    cudaMemcpyAsync(keys, number.memory, sizeof *keys, cudaMemcpyDeviceToHost, stream);
    return cudaStreamSynchronize(stream);
  }
};

const char *judge(cudaError_t status) {
  if (status == cudaErrorNotSupported)
    return "a sorted array is made by one insert, and this is a second one: clear it first";
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

Table *of(void *table) { return static_cast<Table *>(table); }
cudaStream_t in(void *stream) { return static_cast<cudaStream_t>(stream); }

template <class Key>
Table *make(const tsr_rival_shape &shape) {
  if (shape.kind == TSR_RIVAL_SET) return new Sorted<Key, uint8_t>(shape);
  if (shape.value_bits == 32) return new Sorted<Key, uint32_t>(shape);
  return new Sorted<Key, uint64_t>(shape);
}

const char *create(const tsr_rival_shape *shape, void **table) {
  if (shape->kind == TSR_RIVAL_MULTIMAP) return "has one value per key here";
  const cudaError_t status = cudaSetDevice(shape->device);
  if (status != cudaSuccess) return judge(status);
  if (shape->kind != TSR_RIVAL_SET && shape->value_bits != 32 && shape->value_bits != 64)
    return "has values of 32 and 64 bits";
  *table = shape->key_bits == 32 ? make<uint32_t>(*shape) : make<uint64_t>(*shape);
  return judge(of(*table)->clear(nullptr));
}

void destroy(void *table) { delete of(table); }
const char *clear(void *table, void *stream) { return judge(of(table)->clear(in(stream))); }
const char *insert(void *table, uint64_t n, const void *keys, const void *values, void *stream) {
  return judge(of(table)->insert(n, keys, values, in(stream)));
}
const char *find(void *table, uint64_t n, const void *keys, void *values, uint64_t missing, void *stream) {
  return judge(of(table)->find(n, keys, values, missing, in(stream)));
}
const char *join(void *table, void *other, uint64_t *matches, void *stream) {
  return judge(of(table)->join(of(other), matches, in(stream)));
}
const char *count(void *table, uint64_t *keys, void *stream) { return judge(of(table)->count(keys, in(stream))); }
uint64_t bytes(void *table) { return of(table)->bytes(); }
const char *unique(void *table, uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse,
                   uint64_t *distinct, void *stream) {
  cudaError_t status = of(table)->unique(n, keys, distinct_keys, counts, inverse, in(stream));
  if (status == cudaSuccess) status = of(table)->count(distinct, in(stream));
  return judge(status);
}

#define TEXT_OF(number) #number
#define VERSION_OF(number) TEXT_OF(number)

const tsr_rival rival = {
    "CUB sort",
    "CUB " VERSION_OF(CUB_VERSION) ", nvcc " VERSION_OF(__CUDACC_VER_MAJOR__) "." VERSION_OF(__CUDACC_VER_MINOR__),
    1,
    0,
    create,
    destroy,
    clear,
    insert,
    find,
    nullptr,
    join,
    count,
    bytes,
    unique,
    nullptr};

} // namespace

extern "C" const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count) {
  *count = 1;
  return interface == TSR_RIVAL_INTERFACE ? &rival : nullptr;
}
