// Transport: moves frames between machines, over TLS (tls.h) or within a process (loopback.h).
//
// Errors: kDeadline, the peer is slow; kUnavailable, it is gone; kCorrupt, it sent something that
// is no frame, and it is cut off. Each message names the peer.
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
  std::string name;     // certified where there are certificates
  std::string address;  // "192.168.1.7:7070"
  Role role = Role::kWorker;
};

std::string to_string(const Peer& peer);  // "pi-3 (192.168.1.7:7070)"

// Bytes that passed through a channel, with its framing and without what is below it (TLS, TCP).
struct Traffic {
  uint64_t sent = 0;
  uint64_t received = 0;
};

// A reliable two-way stream of frames. Any number of threads may send and one may receive, all at
// once; a frame without urgency waits for the one before it, an urgent one for a few milliseconds
// of it, a bulk frame for all that others have to send. A peer that falls silent is noticed within
// half a second, by signs of life that both sides send.
class Channel {
 public:
  virtual ~Channel() = default;  // closes
  virtual const Peer& peer() const = 0;

  // Returns when the frame is on its way, which does not say that it has arrived. After kDeadline
  // the channel can still be used; what was left of the frame is not sent, and the peer never sees
  // a part of it.
  virtual Status send(const FrameView& frame, Deadline deadline) = 0;

  // After kDeadline nothing is lost: the next call goes on where this one stopped. Without `place`
  // the payload is allocated.
  virtual Result<Frame> receive(Deadline deadline, const Place& place = {}) = 0;

  // From any thread. Senders and receivers return with kUnavailable.
  virtual void close() = 0;

  virtual Traffic traffic() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;  // closes
  // Gives only peers that are authenticated. kUnavailable after close().
  virtual Result<std::shared_ptr<Channel>> accept(Deadline deadline) = 0;
  virtual std::string address() const = 0;  // with the port that was chosen for port 0
  virtual void close() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;  // its channels and listeners may outlive it
  virtual Result<std::shared_ptr<Channel>> connect(std::string_view address, Deadline deadline) = 0;
  // As above, but fails with kUnavailable where the certified name of the peer is another one:
  // its address may have been taken over. Nothing has been sent to it then.
  Result<std::shared_ptr<Channel>> connect(std::string_view address, Deadline deadline,
                                           std::string_view expected_name);
  virtual Result<std::unique_ptr<Listener>> listen(std::string_view address) = 0;
  // Takes a list of removed members (tls/deny_list.h) that a peer has sent over an open channel.
  // Handshakes exchange it by themselves. Does nothing where there are no certificates.
  virtual Status learn(std::string_view deny_list);
};

class Decorator;

// Options of all channels of a transport.
struct ChannelOptions {
  size_t max_payload_bytes = size_t{1} << 30;  // of one frame that is received
  // A peer that is silent for `missed_beats` intervals is gone. Intervals are counted by a thread
  // here, so that a machine which was asleep or starved does not blame its peers.
  std::chrono::milliseconds beat{160};  // so seldom that radios still sleep
  int missed_beats = 2;  // with the interval in which it fell silent: within half a second
  // Decorators that bytes pass on their way out, the first one first: a slow link (link.h), faults.
  std::vector<std::shared_ptr<const Decorator>> decorators;
};

}  // namespace shoal::net
