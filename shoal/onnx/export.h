// Graph -> ONNX: IR version 8, opset 17, the standard domain only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::onnx {

// Weights go from where they lie straight into the file. Each begins at a multiple of 64 bytes,
// so that a reader may map the file and compute on them in place. The file appears when it is
// complete; whatever was there before stays until then.
//
// Outputs are called like their values, or as `output_names` says.
Status write_onnx(const Graph& graph, const std::filesystem::path& path,
                  std::span<const std::string> output_names = {});

// The same with batches of any size: the first dimension of every input and output is left open.
// `one` and `other` are the graph for two sizes, which may differ in types only (kUnsupported:
// something else, such as the target of a Reshape, knows the batch).
Status write_onnx_for_any_batch(const Graph& one, const Graph& other,
                                const std::filesystem::path& path,
                                std::span<const std::string> output_names = {});

// The same bytes in memory, for small graphs.
Result<std::vector<std::byte>> to_onnx(const Graph& graph,
                                       std::span<const std::string> output_names = {});

}  // namespace shoal::onnx

#pragma GCC visibility pop
