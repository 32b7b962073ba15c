
#include "shoal/serve/queue/model_queue.h"

#include <algorithm>

namespace shoal::serve {
namespace {

// `time` + `duration`, where the sum may be later than the clock can say.
Time after(Time time, Duration duration) {
  return time >= kNever - duration ? kNever : time + duration;
}

}  // namespace

// Whole batches run one after another on each slot.
Duration ModelQueue::until_begin(size_t ahead) const {
  if (ahead == 0 || requests_.empty()) return Duration{0};
  const double items = static_cast<double>(ahead) * static_cast<double>(waiting_items_) /
                       static_cast<double>(requests_.size());
  const double batches = items / static_cast<double>(options_.max_items);
  const auto one = static_cast<double>(times_.of(options_.max_items).count());
  return Duration(static_cast<Duration::rep>(batches * one / static_cast<double>(options_.slots)));
}

size_t ModelQueue::ahead_of(const QueuedRequest& request) const {
  size_t ahead = 0;
  for (const auto& [priority, queue] : levels_) {
    if (priority < request.priority) ahead += queue.size();
    if (priority == request.priority) ahead += queue.ahead_of(request.client);
  }
  return ahead;
}

std::optional<uint64_t> ModelQueue::to_give_way_to(const QueuedRequest& request) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    const auto& [priority, queue] = *level;
    if (queue.size() == 0) continue;
    if (priority > request.priority) return queue.newest_of_most();
    return priority == request.priority ? queue.to_give_way_to(request.client) : std::nullopt;
  }
  return std::nullopt;
}

Admission ModelQueue::check(const QueuedRequest& request, Time now) const {
  SHOAL_CHECK(request.items > 0);
  Admission admission;
  if (draining_) {
    admission.status = Status(Code::kUnavailable, "the model is being unloaded");
    return admission;
  }
  constexpr size_t kFew = 8;  // of a slow model, nearly each would wait for longer
  const Duration wait = until_begin(ahead_of(request));
  if (wait > options_.max_wait && requests_.size() >= kFew) {
    admission.status = Status(Code::kExhausted, "too many requests wait");
    admission.retry_after = wait - options_.max_wait;
    return admission;
  }
  if (!requests_.empty() && after(now, wait + times_.of(request.items)) > request.deadline) {
    admission.status =
        Status(Code::kExhausted, "too many requests wait to answer this one in time");
    admission.retry_after = wait;
    return admission;
  }
  if (requests_.size() >= options_.max_waiting) {
    admission.gives_way = to_give_way_to(request);
    if (!admission.gives_way) {
      admission.status = Status(Code::kExhausted, "too many requests wait");
      admission.retry_after = until_begin(requests_.size());
    }
  }
  return admission;
}

Admission ModelQueue::admit(const QueuedRequest& request, Time now) {
  const Admission admission = check(request, now);
  if (!admission.status.ok()) return admission;
  if (admission.gives_way) cancel(*admission.gives_way);
  requests_.emplace_hint(requests_.end(), request.id, request);
  levels_[request.priority].push(request.id, request.client);
  if (request.deadline != kNever) deadlines_.emplace(request.deadline, request.id);
  waiting_items_ += request.items;
  return admission;
}

bool ModelQueue::cancel(uint64_t id) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return false;
  const QueuedRequest& request = it->second;
  levels_[request.priority].remove(id);
  deadlines_.erase({request.deadline, id});
  waiting_items_ -= request.items;
  requests_.erase(it);
  return true;
}

const QueuedRequest* ModelQueue::first() const {
  for (const auto& [priority, queue] : levels_) {
    if (const auto id = queue.first()) return &requests_.at(*id);
  }
  return nullptr;
}

Time ModelQueue::latest_begin() const {
  Time latest = after(requests_.begin()->second.arrived, options_.max_delay);
  if (!deadlines_.empty()) {
    const int64_t items = std::min(waiting_items_, options_.max_items);
    latest = std::min(latest, deadlines_.begin()->first - times_.of(items));
  }
  return latest;
}

bool ModelQueue::is_hopeless(const QueuedRequest& request, Time now) const {
  return requests_.size() > 1 && after(now, times_.of(request.items)) > request.deadline;
}

Decision ModelQueue::next(Time now, bool may_run) {
  Decision decision;
  const auto give_up = [&](uint64_t id) {
    decision.late.push_back(id);
    cancel(id);
  };
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    give_up(deadlines_.begin()->second);
  }
  if (!may_run) return decision;
  const QueuedRequest* head = first();
  while (head != nullptr && is_hopeless(*head, now)) {
    give_up(head->id);
    head = first();
  }
  if (head == nullptr) return decision;
  const bool is_full = head->kind == 0 || waiting_items_ >= options_.max_items;
  if (!is_full && !draining_ && latest_begin() > now) return decision;

  const uint64_t kind = head->kind;
  Time deadline = kNever;  // of the batch: the earliest of its requests'
  do {
    const int64_t items = decision.items + head->items;
    deadline = std::min(deadline, head->deadline);
    // The first request runs whatever it is; it may have more items than batches may.
    const bool fits = kind != 0 && head->kind == kind && items <= options_.max_items &&
                      after(now, times_.of(items)) <= deadline;
    if (!decision.batch.empty() && !fits) break;
    decision.batch.push_back(head->id);
    decision.items = items;
    levels_[head->priority].pop();  // so that it had its turn
    cancel(head->id);
    head = first();
  } while (head != nullptr && decision.items < options_.max_items);
  return decision;
}

Time ModelQueue::wake(bool may_run) const {
  if (requests_.empty()) return kNever;
  const Time expires = deadlines_.empty() ? kNever : deadlines_.begin()->first;
  return may_run ? std::min(expires, latest_begin()) : expires;
}

// Sizes are few: models run batches of powers of two, and odd requests alone. A client may still
// send any size, so the table is bounded: its entries stand for the others.
void RunTimes::learn(int64_t items, Duration took) {
  constexpr int kMemory = 8;  // batches until an old average has lost two thirds of its weight
  constexpr size_t kMostSizes = 64;
  const auto known = usual_.find(items);
  if (known != usual_.end()) {
    known->second += (took - known->second) / kMemory;
  } else if (usual_.size() < kMostSizes) {
    usual_[items] = took;
  }
}

RunTimes::Duration RunTimes::of(int64_t items) const {
  if (usual_.empty()) return Duration{0};
  const auto larger = usual_.lower_bound(items);
  if (larger != usual_.end()) return larger->second;
  const auto& [most, took] = *usual_.rbegin();
  const double times = static_cast<double>(items) / static_cast<double>(most);
  return Duration(static_cast<Duration::rep>(static_cast<double>(took.count()) * times));
}

}  // namespace shoal::serve
