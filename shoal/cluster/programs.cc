#include "shoal/cluster/programs.h"

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"

namespace shoal::cluster {

Result<std::shared_ptr<Executable>> Programs::compile(const message::Graph& message,
                                                      const Graph& graph) {
  const Hash hash = hash_of(bytes_of(message.SerializeAsString()));
  // Held while compiling: two plans that share a task should not both pack its weights.
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Executable>& known = known_[hash];
  if (std::shared_ptr<Executable> executable = known.lock()) return executable;
  SHOAL_ASSIGN(std::shared_ptr<Executable> executable, device_.compile(graph));
  known = executable;
  return executable;
}

}  // namespace shoal::cluster
