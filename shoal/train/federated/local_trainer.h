// LocalTrainer: a client's work in a round: training steps on its own examples from the server's
// weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/federated/strategy.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::federated {

// The seed of a client's order, augmentation and dropout in a round.
uint64_t client_seed(uint64_t seed, uint64_t round, uint64_t client);

// How a client learns.
struct LocalSteps {
  int64_t steps = 1;
  double rate_factor = 1;
  float mu = 0;  // as in Strategy
  uint64_t seed = 1;
};

// At least 1; examples that do not fill a batch come in other epochs, and a single batch is filled
// with repetitions.
size_t batches_per_epoch(size_t examples, size_t batch);

// Keeps no state between clients. Not thread-safe.
class LocalTrainer {
 public:
  // `network` is for one batch. Fails as Trainer does. REQUIRES: `device` outlives it, and the
  // update is not on the device.
  static Result<LocalTrainer> create(Device& device, const Graph& network,
                                     const train::TrainerOptions& options);

  // Returns the mean loss of the steps. Step i takes batch i of `batches`, epoch after epoch. Fails
  // as the data, the device and Trainer::step() do: kInvalidArgument if a loss is NaN.
  Result<double> run(const Weights& from, const Batches& batches, const LocalSteps& local_steps);

  // The same step by step. Shares the tensors of `from`, which are not written.
  Status begin(Weights from, const LocalSteps& steps);
  // REQUIRES: steps() < how.steps.
  Status step(const Batches& batches);
  int64_t steps() const { return steps_; }  // done since begin()
  double mean_loss() const { return steps_ > 0 ? losses_ / static_cast<double>(steps_) : 0; }

  // The current weights. Valid until the next step.
  Weights weights() const { return trainer_.learned(); }
  const std::vector<std::string>& parameters() const { return trainer_.parameters(); }
  int64_t planned_bytes() const { return trainer_.memory().planned; }  // of a step

 private:
  explicit LocalTrainer(train::Trainer trainer);
  Status restart(uint64_t seed);
  void add_proximal();

  train::Trainer trainer_;
  // State besides weights: the position in Dropout's random stream.
  std::vector<std::string> counters_;
  // Of this run.
  Weights from_;
  LocalSteps how_;
  int64_t steps_ = 0;
  double losses_ = 0;
};

// ClientCodecs: encodes client updates in few bytes, instead of f32 weights.
//
// The server's weights w go to client k as they are. It ends with v_k and sends
//
//   message = encode(w - v_k + e_k)        e_k = what the server lacks of it, kept by the client
//
// The server goes on from w - decode(message). Statistics of norms travel as f32.
//
// Error feedback needs a client that reports every few rounds. One of a thousand is asked once in a
// hundred rounds, and its e_k belongs to old weights by then. So one bit is DRIVE here, which keeps
// no state and whose errors average out over the clients of a round
// (train/distributed/codec/drive_codec.cc), and codecs with feedback drop an error that is older
// than kMostAge rounds.

// For all clients. Errors of the last rounds are kept, which takes as much memory as the weights of
// their clients. Thread-safe, but for one client at a time.
class ClientCodecs {
 public:
  static constexpr int64_t kMostAge = 10;

  // `learned` names the weights to encode; the rest are statistics. Fails as StepCodec.
  static Result<ClientCodecs> create(const learn::CodecOptions& options, const Weights& weights,
                                     const std::vector<std::string>& learned);

  // The server's view of a client that went from `from` to `to` in a round. kInvalidArgument, and
  // the client's error is unchanged, if an element is NaN or infinite.
  Result<Weights> send(int64_t round, uint64_t client, const Weights& from, const Weights& to);

  learn::CodecKind kind() const { return options_.kind; }
  size_t bytes() const { return bytes_; }  // of a message
  size_t clients() const;                  // with a carried error

 private:
  struct Carried {
    int64_t round = 0;  // of the client's last report
    std::map<std::string, Tensor> state;
  };
  struct Shared {
    std::mutex mutex;
    std::map<uint64_t, Carried> clients;
  };
  ClientCodecs(const learn::CodecOptions& options, learn::StepTypes types,
               std::vector<std::string> names, size_t bytes)
      : options_(options),
        types_(std::move(types)),
        names_(std::move(names)),
        bytes_(bytes),
        shared_(std::make_unique<Shared>()) {}
  Result<learn::StepCodec> codec_of(int64_t round, uint64_t client) const;
  void keep(int64_t round, uint64_t client, const learn::StepCodec& codec);

  learn::CodecOptions options_;
  learn::StepTypes types_;
  std::vector<std::string> names_;  // of the tensors of a message, in its order
  size_t bytes_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace shoal::federated
