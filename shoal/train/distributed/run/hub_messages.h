// The messages between the hub of a training run and its workers, and their bytes. Bytes from a
// peer are untrusted.
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

// To a worker. The trainer's state at `step`, as train::Trainer::state(); on resuming from a
// checkpoint also the worker's codec, as GradientCodec::state().
struct StateMessage {
  int64_t step = 0;
  std::map<std::string, Tensor> state = {};
  std::map<std::string, Tensor> codec = {};  // empty: the codec is unchanged
};
// Compute the micro-batches [first, end) of the step, or of n local steps, numbered from `step` * n
// on, with this factor of the learning rate.
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
// The push for this step came too late: carry it along.
struct LateMessage {
  int64_t step = 0;
};
// The run is over.
struct GoodbyeMessage {};
// A checkpoint is made before this step: send the codec's state.
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
  double seconds = 0;  // computing time; 0: unknown
};
// The worker has applied the step; see Hub::Applied.
struct AppliedMessage {
  int64_t step = 0;
  uint64_t hash = 0;  // of its weights
  int64_t done = 0;
  double carried = 0;  // GradientCodec::carried_norm(): what is lost with this worker
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
