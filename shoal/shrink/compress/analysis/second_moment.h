// SecondMoment: which directions the inputs of a layer take. An error D of the weights changes the
// outputs by D x, on average over the inputs by
//
//   E ||D x||² = trace(D C Dᵀ) = ||D C^½||²,   C = E[x xᵀ]
//
// so that weights W are best approximated by the best approximation of W C^½, times C^-½.
#pragma once

#include <optional>

#include "shoal/base/math/matrix.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::compress {

// C^½ and C^-½.
struct Whitening {
  Matrix root;
  Matrix inverse;
};

// The features are the channels of a convolution, or the columns of a product's input. A value.
class SecondMoment {
 public:
  explicit SecondMoment(size_t features) : sum_(features, features) {}

  // The inputs of one run, with the features along this axis. REQUIRES: f32, and as many features.
  void add(const Tensor& x, size_t axis);

  // A layer of n features has seen too little as long as it has seen few more than n inputs. C is
  // therefore that of the inputs and of n more, which take all directions alike and are as large
  // on average. Fails with kInvalidArgument if an input was not finite.
  Result<Whitening> whitening() const;

 private:
  Matrix sum_;  // of x xᵀ
  double count_ = 0;
};

}  // namespace shoal::compress
