// TrainingSetup: what a worker needs for training: the network for one micro-batch, the training
// options, and the codec of gradients. Encoded as a message, followed by the elements of constants.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/net/frame.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::cluster {

struct TrainingSetup {
  Graph network;
  train::TrainerOptions trainer = {};
  learn::ExchangeOptions exchange = {};
};

// Header and payload of a BeginTask. The tensors share memory with the setup's graph.
struct EncodedSetup {
  std::string message;
  std::vector<Tensor> constants;

  std::string header() const;
  std::vector<net::Bytes> pieces() const;  // of the payload
};

// kUnsupported if the options have what is not encoded: penalties, and several outputs.
Result<EncodedSetup> encode_setup(const TrainingSetup& setup);

// kCorrupt for bytes that encode_setup() does not write. Options are checked by their users.
Result<TrainingSetup> decode_setup(net::Bytes header, net::Bytes payload);

// The types of a micro-batch: inputs, then targets. Fails if the network has no input or output, or
// no scores that the loss is defined for.
Result<std::vector<TensorType>> types_of_examples(const TrainingSetup& setup);

}  // namespace shoal::cluster
