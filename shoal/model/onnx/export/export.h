// Graph -> ONNX file: IR version 8, opset 17, the standard domain only. Functions keep no state, so
// any thread may call them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::onnx {

// A file's metadata (ONNX's metadata_props). Keys are not empty.
using Properties = std::map<std::string, std::string>;

// How a file is written.
enum class Style {
  // Values and nodes have their names. Weights begin at multiples of 64 bytes, so that a reader may
  // map the file and compute on them in place.
  kReadable,
  // In few bytes: intermediate values have short names, nodes have none, and weights are not
  // aligned, so that readers copy some. Names and padding are a fifth of half a ResNet-20 in int8.
  kCompact
};

// Weights are written without a copy. The file replaces an older one when it is complete.
//
// Outputs have the names of their values, or those of `output_names`.
Status write_onnx(const Graph& graph, const std::filesystem::path& path,
                  std::span<const std::string> output_names = {}, const Properties& properties = {},
                  Style style = Style::kReadable);

// The same with batches of any size: the first dimension of every input and output is left open.
// `one` and `other` are the graph for two sizes, which may differ in types only. kUnsupported:
// something else depends on the batch, such as the target of a Reshape.
Status write_onnx_for_any_batch(const Graph& one, const Graph& other,
                                const std::filesystem::path& path,
                                std::span<const std::string> output_names = {},
                                const Properties& properties = {}, Style style = Style::kReadable);

// The same bytes in memory, for small graphs.
Result<std::vector<std::byte>> to_onnx(const Graph& graph,
                                       std::span<const std::string> output_names = {},
                                       const Properties& properties = {},
                                       Style style = Style::kReadable);

}  // namespace shoal::onnx

#pragma GCC visibility pop
