// The last step of a run: a network in 8 bits.
#pragma once

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/methods/int8.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/loop/training_loop.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::shrink {

inline constexpr double kBytesForOne = 4;  // of f32 for one of i8

// The quantisation of the network, chosen on some of these examples, evenly spread. Fails as
// compress::choose_int8() and the data set do.
Result<compress::Int8Choice> int8_for(Device& device, const NetworkForBatch& network,
                                      const Dataset& examples, const fit::TrainingOptions& recipe);

// The bytes of a network's file in 8 bits and onnx::Style::kCompact, if no product stays real.
Result<double> bytes_in_eight_bits(const NetworkForBatch& network);

// The most bytes of f32 constants with which a network's file, in 8 bits and onnx::Style::kCompact,
// has at most `most`, by bytes_in_eight_bits(). Each byte less is four less there; savings in
// scales are not counted, to be safe. kUnsupported if names and nodes alone take more.
Result<double> real_bytes_for(const NetworkForBatch& network, double most);

// The network with this choice, and equal constants, such as zero points, merged.
NetworkForBatch in_eight_bits(NetworkForBatch network, compress::Int8Choice choice);

// The network with batch norms folded, trained for the choice's rounding: for `epochs` epochs of
// the recipe at a tenth of its rate, half of the loss for its former answers. Fails as retrain()
// does.
Result<NetworkForBatch> used_to_rounding(Device& device, const NetworkForBatch& network,
                                         const compress::Int8Choice& choice,
                                         const fit::TrainingData& data,
                                         const fit::TrainingOptions& recipe, int64_t epochs,
                                         const fit::TrainingCallbacks& callbacks);

}  // namespace shoal::shrink
