// LocalTrainer: what a client does in a round. It takes the server's weights, steps on its own
// examples, and has other weights at the end.
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

// Batches of an epoch. Examples that do not fill a batch are in other epochs; one batch there is
// always, filled up with repetitions.
size_t batches_per_epoch(size_t examples, size_t batch);

// One client after another may use it; it remembers nothing of the last. Not thread-safe.
class LocalTrainer {
 public:
  // `network` is for one batch. Fails as Trainer does. REQUIRES: `device` outlives it, and the
  // update is not on the device.
  static Result<LocalTrainer> create(Device& device, const Graph& network,
                                     const train::TrainerOptions& options);

  // Returns the mean loss of the steps. Step i learns from batch i of `batches`, epoch after epoch.
  // Fails as the data, the device and Trainer::step() do: kInvalidArgument where a loss is no
  // number.
  Result<double> run(const Weights& from, const Batches& batches, const LocalSteps& local_steps);

  // The same step by step. `from` shares its tensors, which are not written.
  Status begin(Weights from, const LocalSteps& steps);
  // REQUIRES: steps() < how.steps.
  Status step(const Batches& batches);
  int64_t steps() const { return steps_; }  // done since begin()
  double mean_loss() const { return steps_ > 0 ? losses_ / static_cast<double>(steps_) : 0; }

  // Those after the last run, which the next one changes.
  Weights weights() const { return trainer_.learned(); }
  const std::vector<std::string>& parameters() const { return trainer_.parameters(); }
  int64_t planned_bytes() const { return trainer_.memory().planned; }  // of a step

 private:
  explicit LocalTrainer(train::Trainer trainer);
  Status restart(uint64_t seed);
  void add_proximal();

  train::Trainer trainer_;
  // What the state of a new trainer has besides weights: the place in Dropout's random stream.
  std::vector<std::string> counters_;
  // Of this run.
  Weights from_;
  LocalSteps how_;
  int64_t steps_ = 0;
  double losses_ = 0;
};

// ClientCodecs: what clients send by a codec of few bytes (learn/codec), in place of f32 weights.
//
// The server's weights w go to client k as they are. It ends with v_k and sends
//
//   message = encode(w - v_k + e_k)        e_k = what the server lacks of it, kept by the client
//
// as a worker of a cluster sends its gradient; the server goes on from w - decode(message).
// Statistics of norms travel as f32.
//
// Error feedback needs a client that reports in every few rounds. One of a thousand is asked once
// in a hundred: e_k is hardly ever sent, and when it is, it belongs to weights of long ago. So one
// bit is that of DRIVE here, which remembers nothing and whose losses average out over the clients
// of a round (train/distributed/codec/drive_codec.cc), and the codecs that need feedback forget an
// error that is older than kMostAge rounds.

// Of all clients: where the codec carries errors, those of the last rounds are kept, which is as
// much memory as the weights of their clients. Thread-safe, but for one client at a time.
class ClientCodecs {
 public:
  static constexpr int64_t kMostAge = 10;

  // `learned` names the weights that are encoded; the rest are statistics. Fails as StepCodec.
  static Result<ClientCodecs> create(const learn::CodecOptions& options, const Weights& weights,
                                     const std::vector<std::string>& learned);

  // What the server has of a client that went from `from` to `to` in a round. kInvalidArgument, and
  // the client carries on what it carried, where an element is no number.
  Result<Weights> send(int64_t round, uint64_t client, const Weights& from, const Weights& to);

  learn::CodecKind kind() const { return options_.kind; }
  size_t bytes() const { return bytes_; }  // of a message
  size_t clients() const;                  // that carry something along

 private:
  struct Carried {
    int64_t round = 0;  // in which the client reported
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
