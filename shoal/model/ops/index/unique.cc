// Unique: the distinct elements, or along `axis` the distinct slices. Further outputs give the
// first occurrence of each, the number of the distinct slice that every slice is, and the number of
// occurrences. All NaNs count as one value. The elements decide the shape, so the input must be a
// constant.
#include <algorithm>
#include <numeric>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Negative, zero or positive as slice i sorts before, like or after slice j.
template <class T>
int compare(const T* x, const Slices& slices, int64_t i, int64_t j) {
  for (int64_t o = 0; o < slices.outer; ++o) {
    const T* a = x + (o * slices.n + i) * slices.inner;
    const T* b = x + (o * slices.n + j) * slices.inner;
    for (int64_t k = 0; k < slices.inner; ++k) {
      if (sorts_before(a[k], b[k])) return -1;
      if (sorts_before(b[k], a[k])) return 1;
    }
  }
  return 0;
}

struct Groups {
  std::vector<int64_t> first;     // by group: the first slice
  std::vector<int64_t> count;     // by group: the number of slices
  std::vector<int64_t> group_of;  // by slice
};

// Groups of equal slices, in ascending order. The sort is stable, so the first of a group is its
// first occurrence.
template <class T>
Groups sorted_groups(const T* x, const Slices& slices) {
  std::vector<int64_t> order(static_cast<size_t>(slices.n));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order,
                           [&](int64_t i, int64_t j) { return compare(x, slices, i, j) < 0; });
  Groups groups;
  groups.group_of.resize(order.size());
  for (int64_t slice : order) {
    if (groups.first.empty() || compare(x, slices, groups.first.back(), slice) != 0) {
      groups.first.push_back(slice);
      groups.count.push_back(0);
    }
    ++groups.count.back();
    groups.group_of[static_cast<size_t>(slice)] = std::ssize(groups.first) - 1;
  }
  return groups;
}

// The same groups in the order in which they first occur.
Groups in_order_of_occurrence(const Groups& sorted) {
  Groups groups;
  std::vector<int64_t> renamed(sorted.first.size(), -1);
  for (int64_t old : sorted.group_of) {
    int64_t& now = renamed[static_cast<size_t>(old)];
    if (now < 0) {
      now = std::ssize(groups.first);
      groups.first.push_back(sorted.first[static_cast<size_t>(old)]);
      groups.count.push_back(sorted.count[static_cast<size_t>(old)]);
    }
    groups.group_of.push_back(now);
  }
  return groups;
}

Groups groups_of(const Node& node, const Tensor& tensor) {
  Groups groups;
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    groups = sorted_groups(tensor.data<T>().data(), *slices_of(node, tensor.shape()));
  });
  return node.integer("sorted", 1) != 0 ? groups : in_order_of_occurrence(groups);
}

// Slices without elements are all equal. There may be any number of them, since they take no
// memory, so they are not listed.
bool empty(const Slices& slices) { return slices.n > 0 && slices.outer * slices.inner == 0; }

Result<std::vector<TensorType>> infer_unique(const Node& node, std::span<const Operand> inputs) {
  const auto& [dtype, shape] = inputs[0].type;
  SHOAL_ASSIGN(Slices slices, slices_of(node, shape));
  const int64_t count = empty(slices) ? 1 : std::ssize(groups_of(node, *inputs[0].value).first);
  std::vector types(4, TensorType{DType::kI64, {count}});
  types[0] = {dtype, shape_of_slices(node, shape, count)};
  types[2].shape[0] = slices.n;
  types.resize(node.outputs.size());
  return types;
}

void reference_unique(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Slices slices = *slices_of(node, inputs[0].shape());
  if (empty(slices)) {
    const std::array<int64_t, 3> values = {0, 0, slices.n};
    for (size_t i = 1; i < outputs.size(); ++i) {
      std::ranges::fill(outputs[i].data<int64_t>(), values[i - 1]);
    }
    return;
  }
  const Groups groups = groups_of(node, inputs[0]);
  copy_slices(slices, groups.first, inputs[0], outputs[0]);
  const std::array lists = {&groups.first, &groups.group_of, &groups.count};
  for (size_t i = 1; i < outputs.size(); ++i) {
    std::ranges::copy(*lists[i - 1], outputs[i].data<int64_t>().begin());
  }
}

}  // namespace

SHOAL_RECORD(unique) = {.name = "Unique",
                        .max_outputs = 4,
                        .value_inputs = 1 << 0,
                        .infer = infer_unique,
                        .reference = reference_unique};

}  // namespace shoal::ops
