#include "shoal/cluster/data_parallel/training_task.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "shoal/base/overloaded.h"
#include "shoal/base/timing/seconds_since.h"
#include "shoal/cluster/messages/message_io.h"
#include "training.pb.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostExamples = size_t{1} << 16;  // of those outside the memory budget

}  // namespace

TrainingTask::TrainingTask(learn::Replica replica, std::vector<TensorType> types)
    : types_(std::move(types)), session_(std::move(replica), [this](int64_t step, int64_t number) {
        return find_examples(step, number);
      }) {}

Status TrainingTask::handle(const TaskInput& input) {
  if (input.header.empty()) return take_order(input.payload.bytes);
  message::TrainingHeader header;
  if (!header.ParseFromString(input.header) || !header.has_examples()) {
    return Status(Code::kCorrupt, "a message that is no order and no examples");
  }
  return take_examples({header.examples().step(), header.examples().number()}, input.payload);
}

Status TrainingTask::take_examples(Place place, const net::Buffer& payload) {
  if (examples_.size() >= kMostExamples) {
    return Status(Code::kExhausted, "too many examples of a training run");
  }
  examples_[place] = payload;
  return {};
}

Status TrainingTask::take_order(net::Bytes bytes) {
  SHOAL_ASSIGN(const learn::ToWorker message, learn::decode_for_worker(bytes));
  std::optional<int64_t> pulled, assigned;
  const auto forget_before = [&](int64_t step) {
    examples_.erase(examples_.begin(), examples_.lower_bound({step, 0}));
  };
  std::visit(Overloaded{[&](const learn::StateMessage& m) { forget_before(m.step); },
                        [&](const learn::PullMessage& m) { pulled = m.step + 1; },
                        [&](const learn::AssignMessage& m) { assigned = m.local_steps; },
                        [](const auto&) {}},
             message);
  SHOAL_TRY(session_.handle(message));
  if (assigned) {
    local_steps_ = *assigned;
    computed_ = 0;
  }
  if (pulled) forget_before(*pulled * local_steps_);
  return {};
}

Status TrainingTask::work() {
  const auto begin = std::chrono::steady_clock::now();
  SHOAL_TRY(session_.work());
  computed_ += seconds_since(begin);
  return {};
}

// The inputs are a view, for which the memory of a payload is aligned. Targets are few.
Result<learn::MicroBatch> TrainingTask::find_examples(int64_t step, int64_t number) const {
  const auto found = examples_.find({step, number});
  if (found == examples_.end()) return Status(Code::kCorrupt, "the examples did not come");
  size_t bytes = 0;
  for (const TensorType& type : types_) bytes += type.bytes();
  net::Bytes left = found->second.bytes;
  if (left.size() != bytes) return Status(Code::kCorrupt, "examples have the wrong size");
  learn::MicroBatch batch{Tensor::view(types_[0], left.data(), found->second.keep), {}};
  left = left.subspan(types_[0].bytes());
  for (size_t i = 1; i < types_.size(); ++i) {
    Tensor target = Tensor::uninitialized(types_[i]);
    std::ranges::copy(left.first(types_[i].bytes()), target.bytes().begin());
    left = left.subspan(types_[i].bytes());
    batch.targets.push_back(std::move(target));
  }
  return batch;
}

std::vector<std::vector<std::byte>> TrainingTask::take_messages() {
  std::vector<std::vector<std::byte>> messages;
  for (learn::ToHub& one : session_.take_messages()) {
    if (auto* push = std::get_if<learn::PushMessage>(&one)) push->seconds = computed_;
    messages.push_back(encode(one));
  }
  return messages;
}

Result<std::unique_ptr<SideTask>> begin_training(Device& device, TaskInput input,
                                                 size_t most_bytes) {
  SHOAL_ASSIGN(const TrainingSetup setup,
               decode_setup(bytes_of(input.header), input.payload.bytes));
  input = {};
  SHOAL_ASSIGN(std::vector<TensorType> types, types_of_examples(setup));
  SHOAL_ASSIGN(learn::Replica replica,
               learn::Replica::create(device, setup.network, setup.trainer, setup.exchange));
  if (replica.trainer().memory().planned > static_cast<int64_t>(most_bytes)) {
    return Status(Code::kExhausted, "no room for what a training step needs");
  }
  return std::unique_ptr<SideTask>(
      std::make_unique<TrainingTask>(std::move(replica), std::move(types)));
}

TasksByName training_tasks() { return {{kTrainingTask, begin_training}}; }

}  // namespace shoal::cluster
