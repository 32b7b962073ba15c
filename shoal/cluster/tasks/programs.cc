#include "shoal/cluster/tasks/programs.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"

namespace shoal::cluster {

size_t estimated_bytes(const Graph& graph) {
  size_t weights = 0, values = 0;
  for (const Node& node : graph.nodes()) {
    size_t of_node = 0;
    for (ValueId id : node.inputs) {
      if (id != kNoValue && !graph[id].constant) of_node += graph[id].type.bytes();
    }
    for (ValueId id : node.outputs) of_node += graph[id].type.bytes();
    values = std::max(values, of_node);
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (value.constant) weights += value.type.bytes();
  }
  return weights + values;
}

Result<std::shared_ptr<Executable>> Programs::compile(const message::Graph& message,
                                                      const Graph& graph) {
  const Hash hash = hash_of(bytes_of(message.SerializeAsString()));
  // Held while compiling: two plans that share a task should not both pack its weights.
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.executable.expired(); });
  const auto known = known_.find(hash);
  if (known != known_.end()) {
    if (std::shared_ptr<Executable> executable = known->second.executable.lock()) return executable;
  }
  size_t used = 0;
  for (const auto& [other, program] : known_) used += program.bytes;
  const size_t bytes = estimated_bytes(graph);
  if (used > budget_ || bytes > budget_ - used) {
    return Status(Code::kExhausted, "no memory for a plan beside those that are here");
  }
  SHOAL_ASSIGN(std::shared_ptr<Executable> executable, device_.compile(graph));
  known_[hash] = {executable, bytes};
  return executable;
}

}  // namespace shoal::cluster
