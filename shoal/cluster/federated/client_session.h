// ClientSession: a worker's part of federated rounds. Its data never leaves it: it receives the
// server's weights and sends back what it learned from them, openly or masked
// (train/secure_sum/client.h). Without I/O.
//
//   recipe  how images become inputs; answered by JoinedMessage
//   round   local steps from these weights, then an UpdateMessage; in a secret round first keys and
//           shares, then local steps, the masked vector, and what unmasks the sum
//   call    sends the result after the current step, or stops without
//
// Steps are computed one by one, and messages are handled between them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "shoal/cluster/data_parallel/training_setup.h"
#include "shoal/cluster/federated/round_messages.h"
#include "shoal/cluster/worker/task.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/federated/local_trainer.h"
#include "shoal/train/secure_sum/client.h"

namespace shoal::federated_cluster {

// The conditions that the owner of the data sets for every run.
struct ClientOptions {
  bool secret_only = false;  // refuses rounds in which the server sees what this client learned
};

// Not thread-safe.
class ClientSession : public cluster::SideTask {
 public:
  // `network` is for one batch. Fails as LocalTrainer, and with kInvalidArgument for no examples.
  // REQUIRES: the device outlives it.
  static Result<std::unique_ptr<ClientSession>> create(Device& device,
                                                       const cluster::TrainingSetup& setup,
                                                       std::shared_ptr<const Dataset> data,
                                                       const ClientOptions& options);

  // Messages of the hub have no header.
  Status handle(const cluster::TaskInput& input) override;
  Status take_message(net::Bytes bytes);
  bool has_work() const override { return task_ && task_->learns; }
  Status work() override;
  std::vector<std::vector<std::byte>> take_messages() override {
    return std::exchange(messages_, {});
  }
  bool is_over() const override { return over_; }
  int64_t planned_bytes() const { return trainer_.planned_bytes(); }

 private:
  // A round in which it takes part.
  struct Task {
    RoundMessage round;
    int64_t steps = 0;    // to be done
    bool learns = false;  // not yet, or no more: in a secret round it waits for messages
    std::optional<secure_sum::Client> secret = {};
    bool has_shared = false;
    std::optional<secure_sum::Delivery> delivery = {};
    std::unique_ptr<Batches> batches = {};
  };

  ClientSession(const cluster::TrainingSetup& setup, federated::LocalTrainer trainer,
                std::shared_ptr<const Dataset> data, const ClientOptions& options)
      : network_(setup.network),
        trainer_(std::move(trainer)),
        data_(std::move(data)),
        options_(options) {}
  Status take(const RecipeMessage& message);
  Status take(RoundMessage message);
  Status take(const CallMessage& message);
  Status take(const SecretMessage& message);
  Status begin_secret(Task& task);
  Status begin_steps(Task& task);
  Status send_update(bool complete);
  void give_up();
  void say(const ToServer& message) { messages_.push_back(encode(message)); }

  const Graph network_;
  federated::LocalTrainer trainer_;
  const std::shared_ptr<const Dataset> data_;
  const ClientOptions options_;
  std::optional<RecipeMessage> recipe_;
  std::optional<Task> task_;
  std::vector<std::vector<std::byte>> messages_;
  bool over_ = false;
};

// The name by which a coordinator asks for it.
inline constexpr char kFederatedTask[] = "federated";

// For WorkerOptions::tasks. Fails as decode_setup() and create() do, with kExhausted if a step
// takes too much memory, and with kUnsupported if `data` is null.
cluster::BeginTask learn_from(std::shared_ptr<const Dataset> data,
                              const ClientOptions& options = {});

}  // namespace shoal::federated_cluster
