// Heads of detectors: what the outputs of a network mean, recognised from their shapes.
//
// With cell (x, y) of a grid of stride s, S(v) the logistic function and C classes:
//
//   yolov8      [1, 4 + C, N]   centre and size in pixels, scores
//   yolov5      [1, N, 5 + C]   N = 3 cells: centre and size in pixels, object, scores; score = o c
//   yolox       [1, N, 5 + C]   N = cells: centre = (v + (x, y)) s, size = exp(v) s; score = o c
//   yolov2      [1, A (5 + C), h, w]   centre = (S(v) + (x, y)) s, size = exp(v) anchor s;
//                               score = S(o) softmax(c)
//   fastestdet  [1, 5 + C, h, w]   centre = (tanh(v) + (x, y)) / (w, h), size = S(v), as shares;
//                               score = o^0.6 c^0.4
//   nanodet     per stride [n, C] and [n, 4 B]   edges at (x + 1/2) s -+ s sum_b b softmax(v)_b
//   ultraface   [1, N, 2] and [1, N, 4]   edges as shares of the image
//   retinaface  [1, N, 4], [1, N, 2] and [1, N, 10]   priors of two sizes for each cell, with
//                               centre = p + 0.1 v size, size = p exp(0.2 v), points = p + 0.1 v
//                               size
//   ssd         [1, N, 1 + C] and [1, N, 4]   probabilities, of no object first; edges as shares,
//   as
//                               those export them who decode in the network
//   ssd300      the same with N = 8732, at 300 x 300: offsets to the priors of SSD300, as of
//                               retinaface; probabilities, or what softmax makes them of
//
// For the others N counts the cells of strides 8, 16 and 32. The preprocessing of each head is also
// known here: it is a convention of training, not visible in shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::detect {

// What outputs mean.
enum class HeadKind : uint8_t {
  kYolov2,
  kYolov5,
  kYolov8,
  kYolox,
  kFastestdet,
  kNanodet,
  kUltraface,
  kRetinaface,
  kSsd,
  kSsd300
};

// "yolov8" and so on, and back; nothing for another name.
std::string_view name_of(HeadKind kind);
std::optional<HeadKind> find_head(std::string_view name);
// All names, for command lines.
std::vector<std::string> head_names();

// How an image is brought to the size of the network.
enum class Fit : uint8_t {
  kStretch,  // to the whole input
  kCentre,   // as large as it fits, in the middle
  kCorner    // as large as it fits, at the top left
};

// A head and what goes before it. A value.
struct Head {
  HeadKind kind = HeadKind::kYolov8;
  int64_t height = 0, width = 0;  // of the input
  int64_t classes = 0;
  Fit fit = Fit::kStretch;
  uint8_t pad = 114;           // pixels beside the image
  Preprocess preprocess = {};  // of what then has the size of the input
};

// The head of a network with these inputs and outputs; only `wanted`, if given. kUnsupported if no
// head has such outputs, or the input is no image of fixed size.
Result<Head> recognise(std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs,
                       std::optional<HeadKind> wanted = {});

// The same head for rectangular inference: no more rows and columns beside an image of this size
// than strides need. The image keeps its scale. Pure.
Head rectangle_of(const Head& head, int64_t image_height, int64_t image_width);

// Where a pixel of the input lies in the image: x = (x' - shift) / scale.
struct Placement {
  float scale_x = 1, scale_y = 1, shift_x = 0, shift_y = 0;
  int64_t width = 0, height = 0;  // of the image

  // The place of a box, within the image, and of a point.
  Box to_image(const Box& box) const;
  Point to_image(const Point& point) const;
};

// Where an image of this size goes. Pure.
Placement placement_in(const Head& head, int64_t height, int64_t width);

// An image, and where it went. Fails as preprocess() does.
struct Prepared {
  Tensor input;
  Placement placement;
};
Result<Prepared> prepare(const Tensor& image, const Head& head);

// The detections in the outputs, in pixels of the image, before suppression; scores below
// `least_score` are left out. kInvalidArgument if outputs do not fit the head.
Result<std::vector<Detection>> decode(const Head& head, std::span<const Tensor> outputs,
                                      const Placement& placement, float least_score);

// "person" for a head with COCO's number of classes; "face" for face heads; otherwise "class 3".
std::string class_name(const Head& head, int64_t label);

}  // namespace shoal::detect

#pragma GCC visibility pop
