#include "shoal/video/detect/class_names.h"

#include <array>
#include <string_view>

namespace shoal::detect {
namespace {

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

std::string class_name(const Head& head, int64_t label) {
  if (head.kind == HeadKind::kUltraface || head.kind == HeadKind::kRetinaface) return "face";
  const bool coco = head.classes == std::ssize(kCoco) && label >= 0 && label < head.classes;
  if (coco) return std::string(kCoco[static_cast<size_t>(label)]);
  return "class " + std::to_string(label);
}

}  // namespace shoal::detect
