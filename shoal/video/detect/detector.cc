#include "shoal/video/detect/detector.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "shoal/engine/inputs/image.h"
#include "shoal/video/detect/resized_graph.h"

namespace shoal::detect {
namespace {

bool is_open(const TensorInfo& tensor_info) {
  return !tensor_info.dims ||
         std::ranges::any_of(*tensor_info.dims, [](int64_t size) { return size < 0; });
}

// The shapes of the outputs that a graph has become.
void take_shapes(const LoadedGraph& bound, std::vector<TensorInfo>& outputs) {
  for (TensorInfo& tensor_info : outputs) {
    const auto name = std::ranges::find(bound.outputs, tensor_info.name);
    if (name == bound.outputs.end()) continue;
    const auto index = static_cast<size_t>(name - bound.outputs.begin());
    const Shape& shape = bound.graph[bound.graph.outputs()[index]].type.shape;
    tensor_info.dims.emplace();
    for (size_t i = 0; i < shape.rank(); ++i) tensor_info.dims->push_back(shape[i]);
  }
}

Network network_of(Session opened) {
  const auto session = std::make_shared<Session>(std::move(opened));
  return [session](const Tensor& input) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> outputs(session->outputs().size());
    SHOAL_TRY(session->run(std::span(&input, 1), outputs));
    return outputs;
  };
}

// As the model declares them; sizes that it leaves open are those of its graph for one image.
Result<std::vector<TensorInfo>> outputs_of(const Model& model) {
  SHOAL_ASSIGN(std::vector<TensorInfo> outputs, model.outputs());
  if (std::ranges::none_of(outputs, is_open)) return outputs;
  const auto bound = model.graph();
  if (bound.ok()) take_shapes(*bound, outputs);
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
  return Detector(std::move(known), network_of(std::move(opened)));
}

// Thread-safe.
class Detector::Rectangles {
 public:
  Rectangles(Model model, Device& device, Head head)
      : model_(std::move(model)), device_(device), head_(std::move(head)) {}

  // The one for an image of this size; null: that of the declared input.
  Detector* find(int64_t height, int64_t width) {
    const Head wanted = rectangle_of(head_, height, width);
    if (wanted.height == head_.height && wanted.width == head_.width) return nullptr;
    const std::lock_guard lock(mutex_);
    const std::pair size(wanted.height, wanted.width);
    auto position = all_.find(size);
    if (position == all_.end()) {
      if (all_.size() == kMost) return nullptr;
      auto opened = open(wanted);
      std::optional<Detector> detector;
      if (opened.ok()) detector = *std::move(opened);
      position = all_.emplace(size, std::move(detector)).first;
    }
    return position->second ? &*position->second : nullptr;
  }

 private:
  static constexpr size_t kMost = 8;  // shapes of images; others have the declared input

  Result<Detector> open(const Head& wanted) const {
    SHOAL_ASSIGN(std::vector<TensorInfo> inputs, model_.inputs());
    SHOAL_ASSIGN(std::vector<TensorInfo> outputs, model_.outputs());
    Shape shape;
    for (const int64_t size : *inputs[0].dims) shape.push_back(size);
    shape[0] = 1;
    shape[2] = wanted.height;
    shape[3] = wanted.width;
    SHOAL_ASSIGN(LoadedGraph bound, model_.graph());
    SHOAL_ASSIGN(bound.graph, resized_graph(bound.graph, shape));
    take_shapes(bound, outputs);
    (*inputs[0].dims)[2] = wanted.height;
    (*inputs[0].dims)[3] = wanted.width;
    SHOAL_ASSIGN(Head head, recognise(inputs, outputs, wanted.kind));
    if (head.classes != wanted.classes) return invalid("a graph of another size has other classes");
    SHOAL_ASSIGN(Session session, Session::open(bound.graph, device_));
    return Detector(std::move(head), network_of(std::move(session)));
  }

  const Model model_;
  Device& device_;
  const Head head_;
  std::mutex mutex_;
  std::map<std::pair<int64_t, int64_t>, std::optional<Detector>> all_;  // by height and width
};

Result<Detector> Detector::open_rectangular(const Model& model, Device& device,
                                            std::optional<HeadKind> head) {
  SHOAL_ASSIGN(Detector declared, open(model, device, head));
  declared.rectangles_ = std::make_shared<Rectangles>(model, device, declared.head_);
  return declared;
}

Result<std::vector<Detection>> Detector::find(const Tensor& image, const Suppression& suppression) {
  if (rectangles_ != nullptr) {
    Detector* const one = rectangles_->find(image.shape()[0], image.shape()[1]);
    if (one != nullptr) return one->find(image, suppression);
  }
  SHOAL_ASSIGN(const Prepared prepared, prepare(image, head_));
  SHOAL_ASSIGN(const std::vector<Tensor> outputs, network_(prepared.input));
  SHOAL_ASSIGN(std::vector<Detection> all,
               decode(head_, outputs, prepared.placement, suppression.least_score));
  return suppress(std::move(all), suppression);
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
  for (const LabelledImage& labelled_image : images) {
    if (options.cancel != nullptr && *options.cancel) break;
    SHOAL_ASSIGN(const Tensor image, read_image(labelled_image.image));
    SHOAL_ASSIGN(const std::vector<Truth> truth,
                 read_truth(labelled_image.labels, image.shape()[1], image.shape()[0]));
    SHOAL_ASSIGN(const std::vector<Detection> detections, detector.find(image, kAll));
    precision.add(detections, truth);
    if (options.progress) options.progress(precision.images(), images.size());
  }
  return precision;
}

}  // namespace shoal::detect
