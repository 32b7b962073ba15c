#include "shoal/engine/run/run_files.h"

#include <algorithm>
#include <fstream>

#include "shoal/base/files/atomic_file.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/inputs/input_files.h"
#include "shoal/engine/inputs/npy.h"
#include "shoal/model/zoo/embedded.h"

namespace shoal::fit {

Result<std::vector<ClassifiedSample>> classify_samples(Session& session) {
  const TensorInfo input = session.inputs()[0];
  std::vector<ClassifiedSample> classified;
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    SHOAL_ASSIGN(const Tensor image, parse_image(sample.png));
    SHOAL_ASSIGN(const Tensor x, image_for_input(image, input.sizes(), {}));
    SHOAL_ASSIGN(const auto outputs, session.run({{input.name, x}}));
    const auto scores = outputs.begin()->second.data<float>();
    classified.push_back({sample.name, top_classes(scores, 1).at(0)});
  }
  return classified;
}

std::vector<Facts> rows_of(const std::vector<ClassifiedSample>& samples) {
  std::vector<Facts> rows;
  for (const auto& [name, best] : samples) {
    rows.push_back({{"image", std::string(name), "image"},
                    {"digit", best.index, "digit"},
                    {"share", static_cast<float>(best.probability), "share",
                     fixed(100.0 * best.probability, 1) + " %"}});
  }
  return rows;
}

Result<Session::Tensors> read_inputs(std::span<const std::string> texts,
                                     std::span<const TensorInfo> inputs, const Preprocess& how) {
  Session::Tensors tensors;
  size_t next = 0;  // the input a file without a name goes to
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const bool is_named = equals != text.npos;
    if (!is_named && next >= inputs.size()) {
      return invalid("more inputs than the model has: " + text);
    }
    const std::string name = is_named ? text.substr(0, equals) : inputs[next++].name;
    const auto info = std::ranges::find(inputs, name, &TensorInfo::name);
    if (info == inputs.end()) return invalid("the model has no input " + name);
    SHOAL_ASSIGN(tensors[name], read_input_file(is_named ? text.substr(equals + 1) : text,
                                                *info->dtype, info->sizes(), how));
  }
  return tensors;
}

Result<std::vector<std::string>> read_labels(const std::filesystem::path& path) {
  std::vector<std::string> labels;
  std::ifstream file(path);
  if (!file) return Status(Code::kNotFound, "cannot read labels from " + path.string());
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  return labels;
}

Status write_outputs(const Session::Tensors& outputs, const std::filesystem::path& folder) {
  constexpr size_t kLongestName = 200;
  if (!make_folder(folder).ok()) return invalid("cannot make folder " + folder.string());
  for (const auto& [name, tensor] : outputs) {
    std::string file = name.substr(0, kLongestName);
    std::ranges::replace_if(
        file, [](char c) { return c == '/' || c == '\0'; }, '_');
    SHOAL_TRY(write_npy(folder / (file + ".npy"), tensor));
  }
  return {};
}

bool is_scores(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  return tensor.dtype() == DType::kF32 && shape.rank() >= 1 && tensor.count() > 1 &&
         tensor.count() == shape[shape.rank() - 1];
}

}  // namespace shoal::fit
