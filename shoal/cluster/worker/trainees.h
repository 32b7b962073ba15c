// Trainees: the training runs in which a worker has a part, one for each coordinator at most.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/worker/trainee.h"

namespace shoal::cluster {

namespace message {
class Message;
}

// The run that a message is about; 0: none.
uint64_t run_of(const message::Message& message);

// Thread-safe.
class Trainees {
 public:
  using ChannelPtr = std::shared_ptr<net::Channel>;

  // A coordinator that begins another run has given up the one before.
  std::shared_ptr<Trainee> begin(const ChannelPtr& channel, uint64_t run);
  // What a coordinator says in its run. kUnavailable where that is not here.
  Status take(const ChannelPtr& channel, const message::Message& message, const net::Frame& frame);
  void forget(const ChannelPtr& channel);  // it is gone

 private:
  std::mutex mutex_;
  std::map<ChannelPtr, std::shared_ptr<Trainee>> trainees_;
};

}  // namespace shoal::cluster
