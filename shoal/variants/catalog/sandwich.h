// Sandwich training (Yu and Huang 2019): a network and narrower ones share weights and train
// together. In each step the widest learns from labels, the narrowest and a random other one from
// labels and the widest's answers, and gradients of shared weights are added up:
//
//   g = grad L(w, labels) + sum over the two of grad L(w[first units], labels, answers of w)
//
// Weights of two or more axes are shared. Each network has its own biases, norm parameters, and
// statistics, which differ with the width.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/variants/catalog/catalog.h"

namespace shoal::catalog {

struct SandwichResult {
  std::map<std::string, Tensor> weights;  // of the widest
  std::vector<OwnParts> own;              // of each narrower one
};

// Trains by the recipe; recipe.loss.distill is the share of narrower networks' losses for the
// widest's answers. Fails as trainer, device and data do, and with kCancelled. REQUIRES: there is a
// narrower network, and widths are those of `widest`, the narrowest last.
Result<SandwichResult> train_sandwich(Device& device, const fit::NetworkForBatch& widest,
                                      const std::vector<compress::Widths>& narrower,
                                      const fit::TrainingData& data,
                                      const fit::TrainingOptions& recipe,
                                      const fit::TrainingCallbacks& callbacks);

}  // namespace shoal::catalog
