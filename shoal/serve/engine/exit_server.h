// ExitServer: a multi-exit network (shrink/exits/network/multi_exit.h) for requests that wish for
// different exits. They share batches: common layers are computed for all together, requests with
// an answer leave, and the others continue from there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/serve/protocol/wish.h"
#include "shoal/shrink/exits/inference/runner.h"

namespace shoal::serve {

// The scores [items, classes] of one request, and the exit that gave each, from 1.
struct ExitAnswers {
  Tensor scores;
  std::vector<size_t> exits;
};

// Thread-safe.
class ExitServer {
 public:
  // nullopt if the model has no exits, or depends on the size of its batches. Compiles for one
  // image and measures the time to each exit. REQUIRES: `device` outlives it.
  static std::optional<ExitServer> create(const Model& model, Device& device);

  // The exit for a wish: the first that is accurate enough, if accuracies are known, and not later
  // than the last that is fast enough; the first if none is.
  exits::ExitWish resolve(const Wish& wish) const;

  // Answers several requests together, each with images [items, ...]. Fails as the device does, and
  // with kInvalidArgument for images of another type. REQUIRES: a wish for each request.
  Result<std::vector<ExitAnswers>> run(std::span<const Tensor* const> requests,
                                       std::span<const Wish> wishes) const;

 private:
  explicit ExitServer(exits::Runner runner) : runner_(std::move(runner)) {}

  exits::Runner runner_;
  std::vector<double> ms_;  // until each exit, the last classifier last
};

}  // namespace shoal::serve
