// SideTask: work that a worker does for a coordinator beside its plans, such as training. Without
// I/O: the owner of the channel passes its messages in and out. Only the task and the coordinator's
// end (coordinator/runtime/task_run.h) know their meaning.
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

// A message of the coordinator. Both parts are hostile until they are decoded.
struct TaskInput {
  std::string header;
  net::Buffer payload;
};

class SideTask {
 public:
  virtual ~SideTask() = default;
  // A failure ends the task: kCorrupt if the coordinator breaks the protocol.
  virtual Status handle(const TaskInput& input) = 0;
  // Whether there is work to compute. Each call of compute() does a little of it, so that messages
  // are handled in between.
  virtual bool has_work() const = 0;
  virtual Status work() = 0;
  // Messages for the coordinator, in order.
  virtual std::vector<std::vector<std::byte>> take_messages() = 0;
  virtual bool is_over() const = 0;
};

// Begins a task on the worker's device; a step may use this many bytes of memory.
using BeginTask = std::function<Result<std::unique_ptr<SideTask>>(Device& device, TaskInput input,
                                                                  size_t most_bytes)>;
using TasksByName = std::map<std::string, BeginTask, std::less<>>;

}  // namespace shoal::cluster
