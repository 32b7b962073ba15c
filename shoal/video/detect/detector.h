// Detector: finds objects in images; a network with its pre- and postprocessing.
//
//   SHOAL_ASSIGN(const Model model, open_model("yolox-nano.onnx"));
//   SHOAL_ASSIGN(detect::Detector detector, detect::Detector::open(model, *device));
//   SHOAL_ASSIGN(const Tensor image, read_image("street.jpg"));
//   SHOAL_ASSIGN(const auto found, detector.find(image));
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/video/detect/detection.h"
#include "shoal/video/detect/head.h"
#include "shoal/video/detect/precision.h"

#pragma GCC visibility push(default)

namespace shoal::detect {

// Computes the outputs of a model, in their order, from its one input.
using Network = std::function<Result<std::vector<Tensor>>(const Tensor& input)>;

// The head of a model's outputs. Fails as recognise() does.
Result<Head> head_of(const Model& model, std::optional<HeadKind> wanted = {});

// Any threads may call find() at once, if they may call the network at once.
class Detector {
 public:
  // Fails as recognise() and Model::session() do. REQUIRES: `device` outlives the detector.
  static Result<Detector> open(const Model& model, Device& device,
                               std::optional<HeadKind> head = {}, SessionOptions options = {});

  // Rectangular inference: computes only the part of the input that an image of its shape needs
  // (rectangle_of()), if the model takes such sizes; otherwise all of it.
  static Result<Detector> open_rectangular(const Model& model, Device& device,
                                           std::optional<HeadKind> head = {});

  // A detector whose network the caller runs.
  Detector(Head head, Network network) : head_(std::move(head)), network_(std::move(network)) {}

  // The meaning of its outputs.
  const Head& head() const { return head_; }

  // The objects in an image, u8 [h, w, c], the best first. Fails as the network does.
  Result<std::vector<Detection>> find(const Tensor& image, const Suppression& suppression = {});

 private:
  class Rectangles;

  Head head_;
  Network network_;
  std::shared_ptr<Rectangles> rectangles_ = {};  // if inference is rectangular
};

// Images with true boxes in a folder: images/NAME.jpg (or .png), and in labels/NAME.txt a line per
// box: its class, and its centre and size as shares of the image ("yolo" format). Without such a
// file an image has no boxes.
struct LabelledImage {
  std::filesystem::path image, labels;
};
// All of them by name. kNotFound if there are none.
Result<std::vector<LabelledImage>> list_labelled_images(const std::filesystem::path& folder);
// The boxes of an image of this size, in pixels. kCorrupt, naming file and line, for a line that is
// no box.
Result<std::vector<Truth>> read_truth(const std::filesystem::path& labels, int64_t width,
                                      int64_t height);

// How to evaluate.
struct DetectionEvaluation {
  size_t limit = 0;                                              // only the first n images; 0: all
  std::function<void(size_t done, size_t total)> progress = {};  // after each image
  const std::atomic<bool>* cancel = nullptr;  // set to end early: the result is that so far
};

// Average precision on a folder, over all detections above 0.001, as COCO's tools do.
Result<Precision> evaluate(Detector& detector, const std::filesystem::path& folder,
                           const DetectionEvaluation& options = {});

}  // namespace shoal::detect

#pragma GCC visibility pop
