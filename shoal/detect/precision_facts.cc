#include "shoal/detect/precision_facts.h"

namespace shoal::detect {

Json to_json(const Precision& precision, double seconds) {
  return {{"map50", precision.map50()},
          {"map", precision.map()},
          {"images", precision.images()},
          {"images_per_s", static_cast<double>(precision.images()) / seconds}};
}

}  // namespace shoal::detect
