// Features of key frames that are computed only where the image has changed (SSI [Mao 2019], with
// its brightness mask). Elsewhere they are those of the key frame before, moved by the flow.
//
//   changed  = tiles of 16 pixels with one that differs by 15 levels or more from the image that
//   the
//              features there were computed from, so that slow changes add up until they count
//   taken    = changed, and 32 pixels around it: features see what is beside them
//   computed = taken, and 64 pixels around it, since layers see zeros beyond (sparse_network.h)
//
// What deep features see beyond these margins is taken to be as it was.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/keyframe/flow.h"
#include "shoal/video/keyframe/sparse_network.h"

namespace shoal::keyframe {

// Of one stream. Thread-compatible.
class SparseFeatures {
 public:
  // Fails as SparseNetwork::compile().
  static Result<SparseFeatures> compile(const Graph& features, Device& device);

  // Everything. Fails as the device does, and as luma_of(). REQUIRES: the input has the graph's
  // type.
  Result<std::vector<Tensor>> compute(const Tensor& input);
  // The features of the next key frame; `moved` are those of the one before, where the image is
  // now. REQUIRES: compute() was called, and `moved` has the types of its result.
  Result<std::vector<Tensor>> update(const Tensor& input, std::vector<Tensor> moved);

  // The share of the image that the last call computed.
  double computed_share() const { return share_; }

 private:
  explicit SparseFeatures(SparseNetwork network) : network_(std::move(network)) {}

  SparseNetwork network_;
  GreyRange range_ = {};  // of the first image
  Plane seen_;            // what the features were computed from
  double share_ = 1;
};

}  // namespace shoal::keyframe
