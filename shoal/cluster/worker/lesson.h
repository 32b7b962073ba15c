// Lesson: what a worker is given of a training run: the network for one micro-batch, how it learns,
// and how gradients travel. As bytes it is a message, and behind it the elements of constants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/cluster/net/frame.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::cluster {

struct Lesson {
  Graph network;
  train::TrainerOptions trainer = {};
  learn::ExchangeOptions exchange = {};
};

// Parts of a payload. The tensors share memory with the lesson's graph.
struct EncodedLesson {
  std::string message;
  std::vector<Tensor> constants;

  std::vector<net::Bytes> pieces() const;
};

// kUnsupported where the options have what does not travel: penalties, and several outputs.
Result<EncodedLesson> encode_lesson(const Lesson& lesson);

// kCorrupt for a payload that encode_lesson() does not write. What options mean is checked by those
// that take them.
Result<Lesson> decode_lesson(net::Bytes payload, uint64_t message_bytes);

// The types of a micro-batch: inputs, then targets. Fails where the network has no input or output,
// or no scores that the loss is defined for.
Result<std::vector<TensorType>> types_of_examples(const Lesson& lesson);

}  // namespace shoal::cluster
