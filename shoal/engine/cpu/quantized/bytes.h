// Quantised tensors as kernels see them: u8. Flipping the sign bit (0x80) of an i8 gives the u8
// that is larger by 128; its zero point grows by 128 as well.
#pragma once

#include <cstdint>

#include "shoal/model/tensor/tensor.h"

namespace shoal::cpu {

inline uint8_t flip_of(DType dtype) { return dtype == DType::kI8 ? 0x80 : 0; }

inline const uint8_t* bytes_of(const Tensor& tensor) {
  return reinterpret_cast<const uint8_t*>(tensor.bytes().data());
}
inline uint8_t* bytes_of(Tensor& tensor) {
  return reinterpret_cast<uint8_t*>(tensor.bytes().data());
}

}  // namespace shoal::cpu
