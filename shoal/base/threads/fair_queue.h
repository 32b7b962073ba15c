// FairQueue: requests that wait for their turn, fair between the clients that sent them.
//
// Clients take turns, each with its oldest request. A client that sends many requests therefore
// makes its own wait, and not those of others.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

namespace shoal {

// Not thread-safe.
class FairQueue {
 public:
  void push(uint64_t request, uint64_t client);
  // Before all others, in the order of their numbers: a request that had begun and begins again.
  void push_again(uint64_t request, uint64_t client);
  // Takes a request out, wherever it stands. Returns whether it was here.
  bool remove(uint64_t request);

  // The request whose turn it is; nullopt if none waits.
  std::optional<uint64_t> first() const;
  void pop();  // removes first(). REQUIRES: size() > 0

  size_t size() const { return clients_of_.size(); }
  // Requests whose turn comes before the next one of this client.
  size_t ahead_of(uint64_t client) const;
  // The newest request of the client with the most requests, if that has at least two more than
  // this client: the one to drop if both do not fit.
  std::optional<uint64_t> to_give_way_to(uint64_t client) const;
  // The newest request of the client with the most requests; nullopt if none waits.
  std::optional<uint64_t> newest_of_most() const;

 private:
  size_t waiting(uint64_t client) const;
  std::map<uint64_t, std::deque<uint64_t>>::const_iterator turn() const;

  std::map<uint64_t, uint64_t> again_;                 // clients, by request
  std::map<uint64_t, std::deque<uint64_t>> waiting_;   // requests, by client; none is empty
  std::unordered_map<uint64_t, uint64_t> clients_of_;  // of all requests
  uint64_t latest_ = 0;                                // the client that had the latest turn
};

}  // namespace shoal
