#include "shoal/detect/detector.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "shoal/data/image.h"

namespace shoal::detect {
namespace {

bool is_open(const TensorInfo& one) {
  return !one.dims || std::ranges::any_of(*one.dims, [](int64_t size) { return size < 0; });
}

// As the model declares them; sizes that it leaves open are those of its graph for one image.
Result<std::vector<TensorInfo>> outputs_of(const Model& model) {
  SHOAL_ASSIGN(std::vector<TensorInfo> outputs, model.outputs());
  if (std::ranges::none_of(outputs, is_open)) return outputs;
  const auto bound = model.graph();
  if (!bound.ok()) return outputs;
  for (TensorInfo& one : outputs) {
    const auto name = std::ranges::find(bound->outputs, one.name);
    if (name == bound->outputs.end()) continue;
    const auto index = static_cast<size_t>(name - bound->outputs.begin());
    const Shape& shape = bound->graph[bound->graph.outputs()[index]].type.shape;
    one.dims.emplace();
    for (size_t i = 0; i < shape.rank(); ++i) one.dims->push_back(shape[i]);
  }
  return outputs;
}

}  // namespace

Result<Head> head_of(const Model& model, std::optional<HeadKind> wanted) {
  SHOAL_ASSIGN(const std::vector<TensorInfo> inputs, model.inputs());
  SHOAL_ASSIGN(const std::vector<TensorInfo> outputs, outputs_of(model));
  return recognise(inputs, outputs, wanted);
}

Result<Detector> Detector::open(const Model& model, Device& device, std::optional<HeadKind> head,
                                SessionOptions options) {
  SHOAL_ASSIGN(Head known, head_of(model, head));
  SHOAL_ASSIGN(Session opened, model.session(device, std::move(options)));
  const auto session = std::make_shared<Session>(std::move(opened));
  return Detector(std::move(known), [session](const Tensor& input) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> outputs(session->outputs().size());
    SHOAL_TRY(session->run(std::span(&input, 1), outputs));
    return outputs;
  });
}

Result<std::vector<Detection>> Detector::find(const Tensor& image, const Suppression& how) {
  SHOAL_ASSIGN(const Prepared prepared, prepare(image, head_));
  SHOAL_ASSIGN(const std::vector<Tensor> outputs, network_(prepared.input));
  SHOAL_ASSIGN(std::vector<Detection> all,
               decode(head_, outputs, prepared.placement, how.least_score));
  return suppress(std::move(all), how);
}

Result<std::vector<LabelledImage>> list_labelled_images(const std::filesystem::path& folder) {
  std::vector<LabelledImage> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "images", error)) {
    if (!is_image_file(entry.path())) continue;
    all.push_back({entry.path(), folder / "labels" / (entry.path().stem().string() + ".txt")});
  }
  if (all.empty()) {
    return Status(Code::kNotFound, "no images in " + (folder / "images").string());
  }
  std::ranges::sort(all, {}, &LabelledImage::image);
  return all;
}

Result<std::vector<Truth>> read_truth(const std::filesystem::path& labels, int64_t width,
                                      int64_t height) {
  std::vector<Truth> truths;
  std::ifstream file(labels);
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    int64_t label = -1;
    std::array<float, 4> box;  // centre and size
    words >> label;
    for (float& number_in : box) words >> number_in;
    if (!words || label < 0) {
      return Status(Code::kCorrupt, labels.string() + ", line " + std::to_string(number) +
                                        ": no class, centre and size");
    }
    const auto w = static_cast<float>(width), h = static_cast<float>(height);
    truths.push_back({label,
                      {(box[0] - box[2] / 2) * w, (box[1] - box[3] / 2) * h,
                       (box[0] + box[2] / 2) * w, (box[1] + box[3] / 2) * h}});
  }
  return truths;
}

Result<Precision> evaluate(Detector& detector, const std::filesystem::path& folder,
                           const DetectionEvaluation& options) {
  constexpr Suppression kAll{.least_score = 0.001F, .most_overlap = 0.65F};
  SHOAL_ASSIGN(std::vector<LabelledImage> images, list_labelled_images(folder));
  if (options.limit > 0) images.resize(std::min(images.size(), options.limit));
  Precision precision;
  for (const LabelledImage& one : images) {
    if (options.cancel != nullptr && *options.cancel) break;
    SHOAL_ASSIGN(const Tensor image, read_image(one.image));
    SHOAL_ASSIGN(const std::vector<Truth> truth,
                 read_truth(one.labels, image.shape()[1], image.shape()[0]));
    SHOAL_ASSIGN(const std::vector<Detection> found, detector.find(image, kAll));
    precision.add(found, truth);
    if (options.progress) options.progress(precision.images(), images.size());
  }
  return precision;
}

}  // namespace shoal::detect
