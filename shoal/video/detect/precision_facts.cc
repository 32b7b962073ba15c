#include "shoal/video/detect/precision_facts.h"

#include "shoal/base/text/number_text.h"

namespace shoal::detect {

Json to_json(const Precision& precision, HeadKind head, double seconds) {
  return {{"map50", precision.map50()},
          {"map", precision.map()},
          {"images", precision.images()},
          {"images_per_s", static_cast<double>(precision.images()) / seconds},
          {"head", name_of(head)}};
}

std::string text_of(const Precision& precision, HeadKind head) {
  return std::to_string(precision.images()) + " images, head " + std::string(name_of(head)) +
         ": mAP 50 " + fixed(precision.map50(), 2) + " %, mAP " + fixed(precision.map(), 2) +
         " %\n";
}

}  // namespace shoal::detect
