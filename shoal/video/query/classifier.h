// Classifier: a network that says what an image shows, at each of its exits if it has any.
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/session/model.h"
#include "shoal/engine/session/session.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/video/query/labels.h"

#pragma GCC visibility push(default)

namespace shoal::query {

// Thread-compatible.
class Classifier {
 public:
  // A model with exits (shrink/exits/network/multi_exit.h) or without. Fails as Runner::create()
  // and Model::session() do, and with kInvalidArgument for a model of several inputs or outputs.
  // REQUIRES: `model` and `device` outlive the classifier.
  static Result<Classifier> open(const Model& model, Device& device, const Preprocess& preprocess);

  // The scores of an image, u8 [h, w, c], at each exit, the last classifier's last.
  Result<ExitScores> scores(const Tensor& image);

 private:
  Classifier(TensorInfo input, Preprocess preprocess)
      : input_(std::move(input)), preprocess_(std::move(preprocess)) {}

  TensorInfo input_;
  Preprocess preprocess_;
  std::optional<exits::Runner> runner_;  // of a model with exits
  std::optional<Session> session_;       // of one without
};

}  // namespace shoal::query

#pragma GCC visibility pop
