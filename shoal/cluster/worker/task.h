// SideTask: something that a worker does for a coordinator beside its plans, such as to learn.
// Without I/O: whoever owns the channel gives it what came and sends what it says. What the
// messages mean is known to it and to the coordinator's end (coordinator/runtime/task_run.h) only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/cluster/net/frame.h"
#include "shoal/engine/device/device.h"

namespace shoal::cluster {

// What a coordinator says. Both parts are hostile until they are decoded.
struct TaskInput {
  std::string header;
  net::Buffer payload;
};

class SideTask {
 public:
  virtual ~SideTask() = default;
  // A failure ends the task: kCorrupt where the coordinator breaks the protocol.
  virtual Status handle(const TaskInput& input) = 0;
  // Whether there is something to compute; and computes a little of it, so that messages are
  // handled in between.
  virtual bool has_work() const = 0;
  virtual Status work() = 0;
  // What the coordinator is to be told, in order.
  virtual std::vector<std::vector<std::byte>> take_messages() = 0;
  virtual bool is_over() const = 0;
};

// Begins a task on the worker's device, with so many bytes of memory for a step at most.
using BeginTask = std::function<Result<std::unique_ptr<SideTask>>(Device& device, TaskInput input,
                                                                  size_t most_bytes)>;
using TasksByName = std::map<std::string, BeginTask, std::less<>>;

}  // namespace shoal::cluster
