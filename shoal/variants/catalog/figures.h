// What a variant costs and how often it is right.
#pragma once

#include "shoal/base/status.h"
#include "shoal/shrink/prune/shrink.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/variants/catalog/catalog.h"

namespace shoal::catalog {

// The cost of a run for one example: work, bytes, memory, energy. Accuracy and time stay 0. Fails
// as network and device do.
Result<VariantFigures> costs_of(Device& device, const fit::NetworkForBatch& network);

// The same with accuracy on held-out and on test examples.
Result<VariantFigures> figures_of(const shrink::ShrinkDevices& devices,
                                  const fit::NetworkForBatch& network, const fit::JudgedData& data,
                                  const fit::TrainingOptions& recipe);

}  // namespace shoal::catalog
