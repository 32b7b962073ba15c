// The messages of a training run between the hub and its workers, and their bytes. What comes from
// a peer is hostile until it is decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/distributed/exchange/step_codec.h"

namespace shoal::learn {

// To a worker. All that a trainer needs to go on from `step`, as train::Trainer::state(), and where
// the hub goes on from a checkpoint, the worker's codec in that, as GradientCodec::state().
struct StateMessage {
  int64_t step = 0;
  std::map<std::string, Tensor> state = {};
  std::map<std::string, Tensor> codec = {};  // empty: the codec stays as it is
};
// Compute the micro-batches [first, end) of the step; or of n local steps, which are numbered
// from `step` times their number on, with this factor of the learning rate.
struct AssignMessage {
  int64_t step = 0, first = 0, end = 0;
  int64_t local_steps = 1;
  double rate_factor = 1;
  StatisticsUse statistics = StatisticsUse::follows();
};
// The step is merged: apply it.
struct PullMessage {
  int64_t step = 0;
  double rate_factor = 1;
  OuterRule outer = {};
  StatisticsUse statistics = StatisticsUse::follows();
  std::vector<std::byte> merged = {};
};
// What was pushed for the step came too late: carry it along.
struct LateMessage {
  int64_t step = 0;
};
// The run is over.
struct GoodbyeMessage {};
// A checkpoint is made before this step: send the state of the codec.
struct SaveMessage {
  int64_t step = 0;
};
using ToWorker = std::variant<StateMessage, AssignMessage, PullMessage, LateMessage, GoodbyeMessage,
                              SaveMessage>;

// To the hub. The worker has the state of the step.
struct SyncedMessage {
  int64_t step = 0;
};
struct PushMessage {
  int64_t step = 0;
  Contribution contribution = {};
  double seconds = 0;  // that it computed; 0: it does not know
};
// The worker has applied the step; see Hub::Applied.
struct AppliedMessage {
  int64_t step = 0;
  uint64_t hash = 0;  // of its weights
  int64_t done = 0;
  double carried = 0;  // GradientCodec::carried_norm(): what is lost if the worker is
};
// The worker's codec before the step, as GradientCodec::state().
struct SavedMessage {
  int64_t step = 0;
  std::map<std::string, Tensor> codec = {};
};
using ToHub = std::variant<SyncedMessage, PushMessage, AppliedMessage, SavedMessage>;

std::vector<std::byte> encode(const ToWorker& message);
std::vector<std::byte> encode(const ToHub& message);
// kCorrupt for bytes that encode() does not write.
Result<ToWorker> decode_for_worker(std::span<const std::byte> bytes);
Result<ToHub> decode_for_hub(std::span<const std::byte> bytes);

}  // namespace shoal::learn
