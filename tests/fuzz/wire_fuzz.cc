// Any bytes as a graph from a peer: refused, or a graph that is whole. And as a code: refused, or
// one whose first values can be computed from the others.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/tasks/task_code.h"

namespace {

void recover_first(const shoal::cluster::TaskCode& code) {
  std::vector<shoal::Tensor> members;
  for (size_t i = 0; i < code.members.size(); ++i) {
    if (code.type_of(i).bytes() > size_t{1} << 16) return;
    const bool lost = i < std::min(code.coefficients.size(), code.data_count());
    members.push_back(lost ? shoal::Tensor() : shoal::Tensor(code.type_of(i)));
  }
  shoal::cluster::recover_data(code, members);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  // Weights that travel apart are there, as long as they are small.
  const auto find = [](const cluster::Hash&, const TensorType& type) {
    return type.bytes() <= size_t{1} << 20 ? Tensor(type) : Tensor();
  };
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto graph = cluster::graph_from(bytes, find);
  if (graph.ok() && !verify(*graph).ok()) __builtin_trap();
  if (const auto code = cluster::code_from(bytes); code.ok()) recover_first(*code);
  return 0;
}
