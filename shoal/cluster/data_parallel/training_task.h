// TrainingTask: a worker's part of a training run, around learn::WorkerSession: keeps the examples
// that the hub has sent, and gives them to the session when it computes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shoal/cluster/data_parallel/training_setup.h"
#include "shoal/cluster/worker/task.h"
#include "shoal/train/distributed/run/worker_session.h"

namespace shoal::cluster {

// The name by which a coordinator asks for it.
inline constexpr char kTrainingTask[] = "train";

// Not thread-safe.
class TrainingTask : public SideTask {
 public:
  TrainingTask(learn::Replica replica, std::vector<TensorType> types);
  TrainingTask(const TrainingTask&) = delete;  // the session calls it
  TrainingTask& operator=(const TrainingTask&) = delete;

  // Examples of a micro-batch, or a message of the hub.
  Status handle(const TaskInput& input) override;
  bool has_work() const override { return session_.has_work(); }
  Status work() override;
  std::vector<std::vector<std::byte>> take_messages() override;
  bool is_over() const override { return session_.is_over(); }

 private:
  using Place = std::pair<int64_t, int64_t>;  // step and number of a micro-batch

  Status take_order(net::Bytes message);
  Status take_examples(Place place, const net::Buffer& payload);
  Result<learn::MicroBatch> find_examples(int64_t step, int64_t number) const;

  const std::vector<TensorType> types_;  // of examples
  std::map<Place, net::Buffer> examples_;
  double computed_ = 0;      // seconds, for the assignment that it has
  int64_t local_steps_ = 1;  // of the last assignment
  learn::WorkerSession session_;
};

// For WorkerOptions::tasks. Fails as decode_setup() and learn::Replica do, and with kExhausted if a
// step takes too much memory.
Result<std::unique_ptr<SideTask>> begin_training(Device& device, TaskInput input,
                                                 size_t most_bytes);
// kTrainingTask alone.
TasksByName training_tasks();

}  // namespace shoal::cluster
