// TPruneOptions: how small a transformer is to become, and how it learns.
#pragma once

#include <cstdint>
#include <filesystem>

#include "shoal/shrink/compress/units/target.h"
#include "shoal/train/run/setup/training_options.h"
#include "shoal/train/step/optimizer/regularizer.h"

#pragma GCC visibility push(default)

namespace shoal::shrink {

// A penalty on the units of the network while it learns (train/step/optimizer/unit_penalty.h).
struct SparseLearning {
  train::Regularizer::Penalty penalty = train::Regularizer::Penalty::kHoyer;
  double strength = 0;
};

// How far learning is.
struct ArrayStep {
  int64_t step = 0, steps = 0;
  double loss = 0;  // of the last batch, without the penalty
};

// A value.
struct TPruneOptions {
  compress::Target target = {.macs = 0.5};  // how small
  SparseLearning sparse = {};               // before the removal; a strength of 0: none
  int64_t sparse_epochs = 1;                // how long
  double line_share = 0.1;  // lines below this share of their matrix's mean count as sparse
  // How the network learns: after the removal for recipe.epochs; before it, with the penalty.
  // Files, model, teacher, loss and patience in it are not read.
  fit::TrainingOptions recipe = {};
  bool control = false;              // let the dense network learn as long, too; needs labels
  double measure_seconds = 1;        // for the time of each network; 0: it is not measured
  std::filesystem::path out = {};    // the smaller network as ONNX; empty: none
  std::filesystem::path dense = {};  // the dense control as ONNX; empty: none
};

}  // namespace shoal::shrink

#pragma GCC visibility pop
