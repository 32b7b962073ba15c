// MpiDispatcher: all messages of a rank pass through it. One thread receives; senders send on their
// own threads. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/net/frame.h"

namespace shoal::mpi {

// The bytes of one stream that have arrived and have not been read. Not bounded. Thread-safe.
class Inbox {
 public:
  void put(std::vector<std::byte> bytes);
  void end();  // nothing will come any more
  Result<size_t> read(std::span<std::byte> into, net::Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<std::byte>> parcels_;
  size_t taken_ = 0;  // of the first
  bool ended_ = false;
};

// One end of a stream: where its bytes come in, and by which tag they go out.
struct MpiRoute {
  int peer = 0;
  int tag = 0;
  std::shared_ptr<Inbox> inbox;
};

class MpiDispatcher {
 public:
  // MPI has been initialised for any number of threads, and is finalised after the dispatcher is
  // gone.
  MpiDispatcher();
  ~MpiDispatcher();

  int rank() const { return rank_; }
  int size() const { return size_; }

  Result<MpiRoute> connect(int peer);
  Result<MpiRoute> accept(net::Deadline deadline);
  void stop_accepting();

  // An empty message ends the stream.
  void send(const MpiRoute& route, std::span<const net::Bytes> pieces);

 private:
  void receive_all();
  bool receive_one();
  void deliver(int source, int tag, std::vector<std::byte> bytes);

  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::shared_ptr<Inbox>> inboxes_;  // by source and tag
  std::deque<MpiRoute> arrivals_;
  bool accepting_ = true;
  int next_route_ = 1;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace shoal::mpi
