// Augmentation of one image: see augment.h.
#pragma once

#include "shoal/base/math/random.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/data/augment.h"

namespace shoal {

// u8 [h, w, c] to u8 [h, w, c]: nothing but a function of the arguments. Never fails. The result
// may share memory with `image`. REQUIRES: an image of at least one pixel; without any change,
// which is the default, any tensor will do.
Tensor augment(const Tensor& image, const Augment& how, RandomStream random);

}  // namespace shoal
