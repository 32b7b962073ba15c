#include "shoal/cluster/worker/trainees.h"

#include "messages.pb.h"

namespace shoal::cluster {

uint64_t run_of(const message::Message& message) {
  if (message.has_train()) return message.train().run();
  if (message.has_examples()) return message.examples().run();
  return message.train_order().run();
}

std::shared_ptr<Trainee> Trainees::begin(const ChannelPtr& channel, uint64_t run) {
  auto trainee = std::make_shared<Trainee>(run, channel);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Trainee>& last = trainees_[channel];
  if (last != nullptr) last->stop();
  last = trainee;
  return trainee;
}

Status Trainees::take(const ChannelPtr& channel, const message::Message& message,
                      const net::Frame& frame) {
  std::shared_ptr<Trainee> trainee;
  {
    const std::lock_guard lock(mutex_);
    const auto found = trainees_.find(channel);
    if (found != trainees_.end()) trainee = found->second;
  }
  if (trainee == nullptr || trainee->run() != run_of(message)) {
    return Status(Code::kUnavailable, "the training run is not here");
  }
  if (!message.has_examples()) return trainee->take_order(frame);
  return trainee->take_examples(message.examples().step(), message.examples().number(), frame);
}

void Trainees::forget(const ChannelPtr& channel) {
  const std::lock_guard lock(mutex_);
  const auto found = trainees_.find(channel);
  if (found == trainees_.end()) return;
  found->second->stop();
  trainees_.erase(found);
}

}  // namespace shoal::cluster
