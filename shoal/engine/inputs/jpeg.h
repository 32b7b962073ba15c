// Writes JPEG files.
#pragma once

#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// The bytes of a JPEG file with this image, u8 [height, width, 3]. kExhausted without memory.
// REQUIRES: 1 <= quality <= 100; sides from 1 to 65,500.
Result<std::string> to_jpeg(const Tensor& image, int quality = 90);

}  // namespace shoal

#pragma GCC visibility pop
