// OwnLearning: a worker's part of a training run in which it learns from data of its own, between
// messages. Without I/O, as learn::WorkerSession. What the messages say is known to it and to the
// hub's side only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "shoal/cluster/net/frame.h"
#include "shoal/cluster/worker/lesson.h"

namespace shoal::cluster {

class OwnLearning {
 public:
  virtual ~OwnLearning() = default;
  // A message of the hub. A failure ends the part: kCorrupt where the hub breaks the protocol.
  virtual Status handle(net::Bytes message) = 0;
  // Whether there is something to compute; and computes a little of it, so that messages are
  // handled in between.
  virtual bool has_work() const = 0;
  virtual Status work() = 0;
  // What the hub is to be told, in order.
  virtual std::vector<std::vector<std::byte>> take_messages() = 0;
  virtual bool is_over() const = 0;
};

// Begins a part of a run with this lesson, on the worker's device, with so many bytes of memory for
// a step at most.
using BeginOwnLearning = std::function<Result<std::unique_ptr<OwnLearning>>(
    Device& device, const Lesson& lesson, size_t most_bytes)>;

}  // namespace shoal::cluster
