#include "shoal/base/threads/fair_queue.h"

#include <algorithm>

#include "shoal/base/status.h"

namespace shoal {

void FairQueue::push(uint64_t request, uint64_t client) {
  clients_of_[request] = client;
  waiting_[client].push_back(request);
}

void FairQueue::push_again(uint64_t request, uint64_t client) {
  clients_of_[request] = client;
  again_[request] = client;
}

bool FairQueue::remove(uint64_t request) {
  const auto it = clients_of_.find(request);
  if (it == clients_of_.end()) return false;
  if (again_.erase(request) == 0) {
    const auto its = waiting_.find(it->second);
    std::erase(its->second, request);
    if (its->second.empty()) waiting_.erase(its);
  }
  clients_of_.erase(it);
  return true;
}

// The next client after the one that had the latest turn, cyclically by number.
std::map<uint64_t, std::deque<uint64_t>>::const_iterator FairQueue::turn() const {
  const auto next = waiting_.upper_bound(latest_);
  return next == waiting_.end() ? waiting_.begin() : next;
}

std::optional<uint64_t> FairQueue::first() const {
  if (!again_.empty()) return again_.begin()->first;
  if (waiting_.empty()) return std::nullopt;
  return turn()->second.front();
}

void FairQueue::pop() {
  SHOAL_CHECK(size() > 0);
  if (!again_.empty()) {
    remove(again_.begin()->first);
    return;
  }
  const auto its = waiting_.find(turn()->first);
  latest_ = its->first;
  clients_of_.erase(its->second.front());
  its->second.pop_front();
  if (its->second.empty()) waiting_.erase(its);
}

size_t FairQueue::waiting(uint64_t client) const {
  const auto it = waiting_.find(client);
  return it == waiting_.end() ? 0 : it->second.size();
}

// Until the client's next request has its turn, it and every other client have had one turn for
// each request that the client has waiting, and others perhaps one more.
size_t FairQueue::ahead_of(uint64_t client) const {
  const size_t own = waiting(client);
  size_t ahead = again_.size() + own;
  for (const auto& [other, requests] : waiting_) {
    if (other != client) ahead += std::min(requests.size(), own + 1);
  }
  return ahead;
}

std::optional<uint64_t> FairQueue::newest_of_most() const {
  const auto most =
      std::ranges::max_element(waiting_, {}, [](const auto& entry) { return entry.second.size(); });
  if (most == waiting_.end()) return std::nullopt;
  return most->second.back();
}

std::optional<uint64_t> FairQueue::to_give_way_to(uint64_t client) const {
  const auto newest = newest_of_most();
  if (!newest || waiting(clients_of_.at(*newest)) < waiting(client) + 2) return std::nullopt;
  return newest;
}

}  // namespace shoal
