// HeadOptions: what an exit consists of.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace shoal::exits {

// The form of exits. A value.
struct HeadOptions {
  // What an exit computes of an image of features before its Gemm.
  enum class Kind {
    kPool,  // the mean over the image: nearly nothing, and enough for late features
    kConv   // convolutions of stride 2, then the mean: a few percent of a network's work
  };
  Kind kind = Kind::kConv;  // which of them
  bool aggregate = true;    // an exit reads the features of the exit before it, too
  uint64_t seed = 1;        // of the weights to begin with
};

}  // namespace shoal::exits

#pragma GCC visibility pop
