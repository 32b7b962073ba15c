// Recognition of heads, and preprocessing for them. Decoding is in decode.cc.
#include "shoal/video/detect/head.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "shoal/base/round_up.h"
#include "shoal/video/detect/cells.h"

namespace shoal::detect {
namespace {

using Dims = std::vector<int64_t>;

struct Convention {
  HeadKind kind;
  std::string_view name;
  Fit fit;
  uint8_t pad;
  bool bgr, scale;
  std::vector<float> mean, std;
};

const std::vector<Convention>& conventions() {
  static const std::vector<Convention> all = {
      {HeadKind::kYolov2, "yolov2", Fit::kStretch, 114, false, false, {}, {}},
      {HeadKind::kYolov5, "yolov5", Fit::kCentre, 114, false, true, {}, {}},
      {HeadKind::kYolov8, "yolov8", Fit::kCentre, 114, false, true, {}, {}},
      {HeadKind::kYolox, "yolox", Fit::kCorner, 114, true, false, {}, {}},
      {HeadKind::kFastestdet, "fastestdet", Fit::kStretch, 114, true, true, {}, {}},
      {HeadKind::kNanodet,
       "nanodet",
       Fit::kCentre,
       0,
       true,
       false,
       {103.53F, 116.28F, 123.675F},
       {57.375F, 57.12F, 58.395F}},
      {HeadKind::kUltraface, "ultraface", Fit::kStretch, 114, false, false, {127}, {128}},
      {HeadKind::kRetinaface,
       "retinaface",
       Fit::kStretch,
       114,
       true,
       false,
       {104, 117, 123},
       {1, 1, 1}},
      {HeadKind::kSsd300, "ssd300", Fit::kStretch, 114, false, false, {123, 117, 104}, {1, 1, 1}},
      {HeadKind::kSsd, "ssd", Fit::kStretch, 114, false, false, {127}, {128}},
  };
  return all;
}

// The classes that such outputs have with this head; nothing: they are not of it.
std::optional<int64_t> classes_of(HeadKind kind, int64_t height, int64_t width,
                                  const std::vector<Dims>& outputs) {
  const int64_t cells = cells_of(height, width);
  const auto only = [&](size_t rank) {
    return outputs.size() == 1 && outputs[0].size() == rank && outputs[0][0] == 1;
  };
  const Dims& first = outputs[0];
  switch (kind) {
    case HeadKind::kYolov8:
      if (only(3) && first[2] == cells && first[1] > 4) return first[1] - 4;
      break;
    case HeadKind::kYolox:
      if (only(3) && first[1] == cells && first[2] > 5) return first[2] - 5;
      break;
    case HeadKind::kYolov5:
      if (only(3) && first[1] == 3 * cells && first[2] > 5) return first[2] - 5;
      break;
    case HeadKind::kFastestdet:
      if (only(4) && first[2] * 16 == height && first[3] * 16 == width && first[1] > 5) {
        return first[1] - 5;
      }
      break;
    case HeadKind::kYolov2:
      if (only(4) && first[2] * 32 == height && first[3] * 32 == width && first[1] % 5 == 0 &&
          first[1] > 25) {
        return first[1] / 5 - 5;
      }
      break;
    case HeadKind::kNanodet: {
      if (outputs.size() != 6) break;
      // Per stride one output of scores and one of distances, told apart by what they share.
      for (const Dims& scores : outputs) {
        const auto matches = [&](const Dims& dims) {
          return dims.size() == 2 && scores.size() == 2 &&
                 (dims[1] == scores[1] || dims[1] == 4 * kNanodetBins);
        };
        if (scores.size() == 2 && scores[1] != 4 * kNanodetBins &&
            std::ranges::all_of(outputs, matches)) {
          return scores[1];
        }
      }
      break;
    }
    case HeadKind::kUltraface:
    case HeadKind::kRetinaface: {
      const size_t wanted = kind == HeadKind::kUltraface ? 2 : 3;
      if (outputs.size() != wanted) break;
      std::vector<int64_t> last;
      for (const Dims& dims : outputs) {
        if (dims.size() != 3 || dims[0] != 1 || dims[1] != first[1]) return {};
        last.push_back(dims[2]);
      }
      std::ranges::sort(last);
      if (wanted == 2 && last == Dims{2, 4}) return 1;
      if (wanted == 3 && last == Dims{2, 4, 10} && first[1] == 2 * cells) return 1;
      break;
    }
    case HeadKind::kSsd:
    case HeadKind::kSsd300: {
      if (outputs.size() != 2) break;
      const bool swapped = first.size() == 3 && first[2] == 4;
      const Dims &scores = outputs[swapped ? 1 : 0], &boxes = outputs[swapped ? 0 : 1];
      if (scores.size() != 3 || boxes.size() != 3 || scores[0] != 1 || boxes[0] != 1 ||
          scores[1] != boxes[1] || boxes[2] != 4 || scores[2] < 2 || scores[2] == 4) {
        break;  // with three classes the two cannot be told apart
      }
      const bool has_priors =
          height == kSsd300Side && width == kSsd300Side && scores[1] == kSsd300Priors;
      if (has_priors == (kind == HeadKind::kSsd300)) return scores[2] - 1;
      break;
    }
  }
  return {};
}

std::string text_of(const std::vector<Dims>& outputs) {
  std::string text;
  for (const Dims& dims : outputs) {
    text += text.empty() ? "[" : ", [";
    for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
    text += "]";
  }
  return text;
}

constexpr auto kCoco = std::to_array<std::string_view>({
    "person",        "bicycle",      "car",
    "motorcycle",    "airplane",     "bus",
    "train",         "truck",        "boat",
    "traffic light", "fire hydrant", "stop sign",
    "parking meter", "bench",        "bird",
    "cat",           "dog",          "horse",
    "sheep",         "cow",          "elephant",
    "bear",          "zebra",        "giraffe",
    "backpack",      "umbrella",     "handbag",
    "tie",           "suitcase",     "frisbee",
    "skis",          "snowboard",    "sports ball",
    "kite",          "baseball bat", "baseball glove",
    "skateboard",    "surfboard",    "tennis racket",
    "bottle",        "wine glass",   "cup",
    "fork",          "knife",        "spoon",
    "bowl",          "banana",       "apple",
    "sandwich",      "orange",       "broccoli",
    "carrot",        "hot dog",      "pizza",
    "donut",         "cake",         "chair",
    "couch",         "potted plant", "bed",
    "dining table",  "toilet",       "tv",
    "laptop",        "mouse",        "remote",
    "keyboard",      "cell phone",   "microwave",
    "oven",          "toaster",      "sink",
    "refrigerator",  "book",         "clock",
    "vase",          "scissors",     "teddy bear",
    "hair drier",    "toothbrush",
});

}  // namespace

std::string_view name_of(HeadKind kind) {
  return std::ranges::find(conventions(), kind, &Convention::kind)->name;
}

std::vector<std::string> head_names() {
  std::vector<std::string> names;
  for (const Convention& known : conventions()) names.emplace_back(known.name);
  return names;
}

std::optional<HeadKind> find_head(std::string_view name) {
  const auto position = std::ranges::find(conventions(), name, &Convention::name);
  if (position == conventions().end()) return {};
  return position->kind;
}

Result<Head> recognise(std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs,
                       std::optional<HeadKind> wanted) {
  constexpr int64_t kLargest = 1 << 14;
  const auto unsupported = [](const std::string& why) {
    return Status(Code::kUnsupported, "this is no detector that is known: " + why);
  };
  if (inputs.empty() || !inputs[0].dims || inputs[0].dims->size() != 4) {
    return unsupported("its input is no image");
  }
  const Dims& image = *inputs[0].dims;
  const int64_t height = image[2], width = image[3];
  if (image[1] != 3 || height < 32 || width < 32 || height > kLargest || width > kLargest) {
    return unsupported("its input is no image of fixed size with three planes");
  }
  std::vector<Dims> shapes;
  for (const TensorInfo& output : outputs) {
    if (!output.dims) return unsupported("the shape of " + output.name + " is not declared");
    shapes.push_back(*output.dims);
  }
  if (shapes.empty()) return unsupported("it has no output");
  for (const Convention& known : conventions()) {
    if (wanted && *wanted != known.kind) continue;
    const auto classes = classes_of(known.kind, height, width, shapes);
    if (!classes) continue;
    Head head{.kind = known.kind,
              .height = height,
              .width = width,
              .classes = *classes,
              .fit = known.fit,
              .pad = known.pad};
    head.preprocess.mean = known.mean;
    head.preprocess.std = known.std;
    head.preprocess.scale = known.scale;
    head.preprocess.bgr = known.bgr;
    return head;
  }
  return unsupported("no head has the outputs " + text_of(shapes));
}

Box Placement::to_image(const Box& box) const {
  const Point low = to_image(Point{box.left, box.top}),
              high = to_image(Point{box.right, box.bottom});
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  return {std::clamp(low.x, 0.F, w), std::clamp(low.y, 0.F, h), std::clamp(high.x, 0.F, w),
          std::clamp(high.y, 0.F, h)};
}

Point Placement::to_image(const Point& point) const {
  return {(point.x - shift_x) / scale_x, (point.y - shift_y) / scale_y};
}

Head rectangle_of(const Head& head, int64_t image_height, int64_t image_width) {
  if (head.fit == Fit::kStretch || image_height < 1 || image_width < 1) return head;
  constexpr int64_t kStride = 32;  // the largest of all heads
  const double scale =
      std::min(static_cast<double>(head.height) / static_cast<double>(image_height),
               static_cast<double>(head.width) / static_cast<double>(image_width));
  const auto side = [&](int64_t length, int64_t most) {
    const auto shown = static_cast<int64_t>(std::ceil(static_cast<double>(length) * scale));
    return std::min(round_up(shown, kStride), most);
  };
  Head smaller = head;
  smaller.height = side(image_height, head.height);
  smaller.width = side(image_width, head.width);
  return smaller;
}

namespace {

// The rows and columns of the input that an image fills.
int64_t shown(int64_t length, float scale, int64_t most) {
  return std::clamp<int64_t>(static_cast<int64_t>(static_cast<float>(length) * scale + 0.5F), 1,
                             most);
}

}  // namespace

Placement placement_in(const Head& head, int64_t height, int64_t width) {
  Placement at{.width = width, .height = height};
  at.scale_x = static_cast<float>(head.width) / static_cast<float>(width);
  at.scale_y = static_cast<float>(head.height) / static_cast<float>(height);
  if (head.fit == Fit::kStretch) return at;
  at.scale_x = at.scale_y = std::min(at.scale_x, at.scale_y);
  if (head.fit == Fit::kCentre) {
    at.shift_x = static_cast<float>((head.width - shown(width, at.scale_x, head.width)) / 2);
    at.shift_y = static_cast<float>((head.height - shown(height, at.scale_y, head.height)) / 2);
  }
  return at;
}

Result<Prepared> prepare(const Tensor& image, const Head& head) {
  const int64_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  Prepared prepared{.input = {}, .placement = placement_in(head, height, width)};
  const Placement& at = prepared.placement;
  Tensor fitted;
  if (head.fit == Fit::kStretch) {
    fitted = resize_image(image, head.height, head.width);
  } else {
    const int64_t shown_h = shown(height, at.scale_y, head.height);
    const int64_t shown_w = shown(width, at.scale_x, head.width);
    const auto top = static_cast<int64_t>(at.shift_y), left = static_cast<int64_t>(at.shift_x);
    const Tensor resized = resize_image(image, shown_h, shown_w);
    fitted = Tensor::uninitialized({DType::kU8, {head.height, head.width, channels}});
    std::ranges::fill(fitted.data<uint8_t>(), head.pad);
    const auto row = static_cast<size_t>(shown_w * channels);
    for (int64_t y = 0; y < shown_h; ++y) {
      std::memcpy(fitted.data<uint8_t>().data() + ((top + y) * head.width + left) * channels,
                  resized.data<uint8_t>().data() + static_cast<size_t>(y) * row, row);
    }
  }
  Preprocess preprocessing = head.preprocess;
  preprocessing.channels = 3;
  SHOAL_ASSIGN(prepared.input, preprocess(fitted, preprocessing, head.height, head.width));
  return prepared;
}

std::string class_name(const Head& head, int64_t label) {
  if (head.kind == HeadKind::kUltraface || head.kind == HeadKind::kRetinaface) return "face";
  const bool coco = head.classes == std::ssize(kCoco) && label >= 0 && label < head.classes;
  if (coco) return std::string(kCoco[static_cast<size_t>(label)]);
  return "class " + std::to_string(label);
}

}  // namespace shoal::detect
