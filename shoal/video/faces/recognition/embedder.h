// Embedder: a network that turns an aligned face into an embedding, and into earlier, cheaper ones
// on the way.
//
// An exit of a network without exits is its features there, averaged over a grid of about 4 x 4
// squares: faces are aligned, so that a square shows the same part of each. Nothing is trained.
// Such embeddings tell near duplicates, as in successive frames, from others; the cascade finds out
// how far to trust them (cascade.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/video/faces/recognition/recent_faces.h"

#pragma GCC visibility push(default)

namespace shoal::faces {

// How to embed. A value.
struct EmbedderOptions {
  size_t exits = 2;  // fewer where the network has too few places
  // Of what has the size of the input already; as MobileFaceNet was trained.
  Preprocess preprocess = {.channels = 3, .mean = {127}, .std = {128}, .scale = false};
};

// One face on its way through the network. Valid as long as its embedder.
class FacePass {
 public:
  // The embedding at the next exit, and at last that of the whole network. Fails as the device
  // does. REQUIRES: !done().
  Result<Embedding> next();
  // Whether the whole network has run.
  bool done() const { return progress_.next == stages_; }

 private:
  friend class Embedder;
  FacePass(const exits::Runner& runner, exits::Progress progress, size_t stages)
      : runner_(&runner), progress_(std::move(progress)), stages_(stages) {}

  const exits::Runner* runner_;
  exits::Progress progress_;
  size_t stages_;
};

// Any threads may call its const functions at once.
class Embedder {
 public:
  // kInvalidArgument unless the network takes one square image and gives one vector. REQUIRES:
  // `device` outlives the embedder.
  static Result<Embedder> open(const Model& model, Device& device,
                               const EmbedderOptions& options = {});

  // Of the images it takes, in pixels.
  int64_t side() const { return side_; }
  // Multiply-accumulates up to each exit from the one before, and from the last to the end.
  const std::vector<int64_t>& stage_macs() const { return runner_.stage_macs(); }
  // Elements of the embedding at each exit, and of the last.
  const std::vector<int64_t>& dims() const { return dims_; }

  // A face, u8 [h, w, c], at the beginning of the network; another size is stretched.
  Result<FacePass> start(const Tensor& face) const;
  // The embedding of the whole network. Fails as above.
  Result<Embedding> embed(const Tensor& face) const;

 private:
  Embedder(exits::Runner runner, int64_t side, std::vector<int64_t> dims, Preprocess preprocess)
      : runner_(std::move(runner)),
        side_(side),
        dims_(std::move(dims)),
        preprocess_(std::move(preprocess)) {}

  exits::Runner runner_;
  int64_t side_;
  std::vector<int64_t> dims_;
  Preprocess preprocess_;
};

}  // namespace shoal::faces

#pragma GCC visibility pop
