// Limits: bounds on what a file or a peer may ask for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shoal {

struct Limits {
  int64_t max_tensor_bytes = int64_t{8} << 30;  // one value of a graph, weights included
  int64_t max_dimension = int64_t{1} << 40;
  // Product of the other dimensions of an empty tensor: loops may run over them.
  int64_t max_empty_extent = int64_t{1} << 24;
  size_t max_nodes = 1'000'000;  // after functions are inlined
  size_t max_values = 4'000'000;
  size_t max_name_bytes = 4096;
  size_t max_structure_bytes = size_t{128} << 20;  // of a parsed model, weights not counted
  size_t max_message_depth = 64;                   // protobuf messages inside one another
  size_t max_call_depth = 32;                      // functions and If branches inside one another
  int64_t max_folded_bytes = int64_t{1} << 30;     // a value computed when a model is loaded
  size_t max_control_bytes = size_t{1} << 20;      // of a frame from a peer, payload not counted
};

inline constexpr Limits kLimits{};

}  // namespace shoal
