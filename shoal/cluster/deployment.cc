#include "shoal/cluster/deployment.h"

#include <algorithm>

#include "shoal/plan/boxes.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostRequests = 64;

TensorType input_type(const WorkerTask& task, size_t input) {
  const Graph& graph = task.executable->graph();
  return graph[graph.inputs()[input]].type;
}

}  // namespace

Deployment::Deployment(std::vector<WorkerTask> tasks) : tasks_(std::move(tasks)) {}

std::optional<DType> Deployment::dtype_of(ValueId value) const {
  for (const WorkerTask& task : tasks_) {
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      if (task.inputs[i].value == value) return input_type(task, i).dtype;
    }
  }
  return std::nullopt;
}

Deployment::Request& Deployment::request_at(uint64_t id) {
  const auto [it, is_new] = requests_.try_emplace(id);
  if (!is_new) return it->second;
  for (const WorkerTask& task : tasks_) {
    std::vector<Filling>& inputs = it->second.inputs.emplace_back();
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      const Region& region = task.inputs[i].region;
      inputs.push_back({Tensor(), {}});
      if (!plan::is_empty(region)) inputs.back().missing = {region};
    }
  }
  return it->second;
}

Status Deployment::put(uint64_t request, const plan::Piece& piece, const Tensor& elements) {
  const std::lock_guard lock(mutex_);
  if (is_over(request)) return {};
  if (!requests_.contains(request) && requests_.size() >= kMostRequests) {
    return Status(Code::kExhausted, "too many requests at once");
  }
  if (put_locked(request_at(request), piece, elements)) return {};
  return invalid("nobody here reads that piece");
}

bool Deployment::put_locked(Request& request, const plan::Piece& piece, const Tensor& elements) {
  bool used = false;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    for (size_t i = 0; i < tasks_[t].inputs.size(); ++i) {
      const plan::Piece& wanted = tasks_[t].inputs[i];
      if (wanted.value != piece.value || wanted.region.begin.rank() != piece.region.begin.rank()) {
        continue;
      }
      const Region common = plan::intersection(wanted.region, piece.region);
      if (plan::is_empty(common)) continue;
      used = true;
      if (t < request.next) continue;
      Filling& filling = request.inputs[t][i];
      if (filling.missing.empty()) continue;  // what comes again must not change it
      filling.missing = plan::subtract(std::move(filling.missing), common);
      if (common == wanted.region && common == piece.region) {
        filling.tensor = elements;
        continue;
      }
      if (!filling.tensor.defined()) filling.tensor = Tensor(input_type(tasks_[t], i));
      paste(crop(elements, plan::relative(common, piece.region)),
            plan::relative(common, wanted.region), filling.tensor);
    }
  }
  return used;
}

bool Deployment::is_ready(const Request& request) {
  return !request.running && request.next < request.inputs.size() &&
         std::ranges::all_of(request.inputs[request.next],
                             [](const Filling& filling) { return filling.missing.empty(); });
}

std::optional<ReadyTask> Deployment::take() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, request] : requests_) {
    if (!is_ready(request)) continue;
    request.running = true;
    ReadyTask ready{id, request.next, {}};
    for (Filling& filling : request.inputs[request.next]) {
      ready.inputs.push_back(std::move(filling.tensor));
    }
    return ready;
  }
  return std::nullopt;
}

void Deployment::finish(const ReadyTask& task, std::span<const Tensor> outputs) {
  const std::lock_guard lock(mutex_);
  const auto it = requests_.find(task.request);
  if (it == requests_.end()) return;  // it was cancelled
  Request& request = it->second;
  request.running = false;
  ++request.next;
  if (request.next == tasks_.size()) {
    end(task.request);
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    put_locked(request, tasks_[task.task].outputs[i], outputs[i]);
  }
}

void Deployment::cancel(uint64_t request) {
  const std::lock_guard lock(mutex_);
  end(request);
}

bool Deployment::is_over(uint64_t request) const {
  return over_.contains(request) || (request < all_over_ && !requests_.contains(request));
}

// Coordinators count requests up, so that few of those that are over need to be remembered.
void Deployment::end(uint64_t request) {
  constexpr size_t kMostRemembered = 1024;
  requests_.erase(request);
  over_.insert(request);
  if (over_.size() <= kMostRemembered) return;
  all_over_ = *over_.begin() + 1;
  over_.erase(over_.begin());
}

}  // namespace shoal::cluster
