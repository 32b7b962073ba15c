// Any bytes as a graph from a peer: refused, or a graph that is whole.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shoal/cluster/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  // Weights that travel apart are there, as long as they are small.
  const auto find = [](const cluster::Hash&, const TensorType& type) {
    return type.bytes() <= size_t{1} << 20 ? Tensor(type) : Tensor();
  };
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto graph = cluster::graph_from(bytes, find);
  if (graph.ok() && !verify(*graph).ok()) __builtin_trap();
  return 0;
}
