// Values of a file's program, by number.
#pragma once

#include <cstdint>

namespace shoal::onnx {

using Slot = int32_t;
inline constexpr Slot kNoSlot = -1;  // an optional input left out

}  // namespace shoal::onnx
