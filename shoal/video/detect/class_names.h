// Names of the classes that detectors find.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/video/detect/head.h"

#pragma GCC visibility push(default)

namespace shoal::detect {

// "person": one of COCO's, for a head of as many classes as that data set has; "face", for heads
// that find faces; otherwise "class 3".
std::string class_name(const Head& head, int64_t label);

}  // namespace shoal::detect

#pragma GCC visibility pop
