#include "shoal/shrink/retraining/calibration_files.h"

#include "shoal/engine/inputs/input_files.h"

namespace shoal::fit {
namespace {

namespace fs = std::filesystem;

Result<Tensor> read_example(const fs::path& file, const Value& input,
                            const Preprocess& preprocess) {
  const std::span<const int64_t> dims(input.type.shape.begin(), input.type.shape.rank());
  SHOAL_ASSIGN(Tensor x, read_input_file(file, input.type.dtype, dims, preprocess));
  if (x.type() == input.type) return x;
  return invalid("is " + to_string(x.type()) + ", input " + input.name + " takes " +
                 to_string(input.type));
}

}  // namespace

// The function captures copies only, so that it may outlive the graph. Files are read one by one:
// calibration needs one example at a time, and a folder may be larger than memory.
Result<compress::CalibrationData> folder_examples(const Graph& graph, const fs::path& folder,
                                                  size_t limit, const Preprocess& preprocess) {
  if (graph.inputs().size() != 1) {
    return invalid("files are examples for a model of one input, this one has " +
                   std::to_string(graph.inputs().size()));
  }
  SHOAL_ASSIGN(auto files, list_input_files(folder, limit));
  const size_t count = files.size();
  return compress::CalibrationData{count,
                                   [files = std::move(files), input = graph[graph.inputs()[0]],
                                    preprocess](size_t index) -> Result<std::vector<Tensor>> {
                                     auto x = read_example(files[index], input, preprocess);
                                     if (!x.ok()) return x.status().at(files[index].string());
                                     return std::vector<Tensor>{*std::move(x)};
                                   }};
}

}  // namespace shoal::fit
