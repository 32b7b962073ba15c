// Constants with many zeros as ONNX's sparse_initializer: an index of 8 bytes and 4 bytes of value
// for each number that is not 0. That is less than a dense tensor takes where more than two thirds
// of the numbers are 0. Readers make them dense again, so that runs take the same time and memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::onnx {

// As write_onnx() and to_onnx() of export.h, but f32 constants are sparse where that takes fewer
// bytes; no more of them than readers expand, which is 256 MiB in all.
Status write_sparse_onnx(const Graph& graph, const std::filesystem::path& path,
                         std::span<const std::string> output_names = {});
Result<std::vector<std::byte>> to_sparse_onnx(const Graph& graph,
                                              std::span<const std::string> output_names = {});

}  // namespace shoal::onnx

#pragma GCC visibility pop
