// Transport: moves frames between machines, over TLS (tls.h) or within a process (loopback.h).
//
// Errors: kDeadline, the peer is slow; kUnavailable, it is gone; kCorrupt, it sent an invalid frame
// and was disconnected. Each message names the peer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/cluster/net/frame.h"
#include "shoal/cluster/net/role.h"

namespace shoal::net {

struct Peer {
  std::string name;     // certified if there are certificates
  std::string address;  // "192.168.1.7:7070"
  Role role = Role::kWorker;
};

std::string to_string(const Peer& peer);  // "pi-3 (192.168.1.7:7070)"

// Bytes that passed through a channel, with its framing and without the layers below (TLS, TCP).
struct Traffic {
  uint64_t sent = 0;
  uint64_t received = 0;
};

// A reliable two-way stream of frames. Any number of threads may send and one may receive, all at
// once. An ordinary frame waits for the one before it, an urgent one for a few milliseconds of it,
// a bulk frame for all that others send. A silent peer is noticed within half a second, by
// heartbeats that both sides send.
class Channel {
 public:
  virtual ~Channel() = default;  // closes
  virtual const Peer& peer() const = 0;

  // Returns when the frame is sent, not when it has arrived. After kDeadline the channel can still
  // be used; the rest of the frame is not sent, and the peer never sees a part of it.
  virtual Status send(const FrameView& frame, Deadline deadline) = 0;

  // After kDeadline nothing is lost: the next call continues. Allocates the payload without
  // `place`.
  virtual Result<Frame> receive(Deadline deadline, const Place& place = {}) = 0;

  // From any thread. Senders and receivers return with kUnavailable.
  virtual void close() = 0;

  virtual Traffic traffic() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;  // closes
  // Returns authenticated peers only. kUnavailable after close().
  virtual Result<std::shared_ptr<Channel>> accept(Deadline deadline) = 0;
  virtual std::string address() const = 0;  // with the port that was chosen for port 0
  virtual void close() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;  // its channels and listeners may outlive it
  virtual Result<std::shared_ptr<Channel>> connect(std::string_view address, Deadline deadline) = 0;
  // As above, but fails with kUnavailable if the certified name of the peer is another: its address
  // may have been taken over. Nothing was sent to it then.
  Result<std::shared_ptr<Channel>> connect(std::string_view address, Deadline deadline,
                                           std::string_view expected_name);
  virtual Result<std::unique_ptr<Listener>> listen(std::string_view address) = 0;
  // Takes a list of removed members (tls/deny_list.h) that a peer has sent over an open channel.
  // Handshakes exchange it by themselves. Does nothing without certificates.
  virtual Status learn(std::string_view deny_list);
};

class Decorator;

// Options of all channels of a transport.
struct ChannelOptions {
  size_t max_payload_bytes = size_t{1} << 30;  // of one frame that is received
  // A peer that is silent for `missed_beats` intervals is gone. A thread counts intervals here, so
  // that a machine which was asleep or starved does not blame its peers.
  std::chrono::milliseconds beat{160};  // so seldom that radios still sleep
  int missed_beats = 2;  // with the interval in which it fell silent: within half a second
  // Decorators of outgoing bytes, in order: a slow link (link.h), faults.
  std::vector<std::shared_ptr<const Decorator>> decorators;
};

}  // namespace shoal::net
