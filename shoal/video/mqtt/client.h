// Client: a connection to an MQTT broker, by libmosquitto, which is loaded on first use.
//
// Connects and reconnects in the background. The last retained message of each topic is kept and
// sent after each connection, because a restarted broker has forgotten it. Other messages are
// dropped while disconnected, and beyond a few hundred in flight, so memory is bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

#pragma GCC visibility push(default)

namespace shoal::mqtt {

// A message. A value.
struct Message {
  std::string topic, payload;
  bool retain = false;  // a state: the broker gives it to later subscribers
  int qos = 0;          // 1: at least once

  friend bool operator==(const Message&, const Message&) = default;
};

// Where a broker is.
struct Broker {
  std::string host;
  uint16_t port = 1883;
  bool tls = false;
  std::string user = {}, password = {};
  std::string prefix = "shoal";  // of topics

  friend bool operator==(const Broker&, const Broker&) = default;
};

// "mqtt://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX]", or mqtts:// for TLS, whose port is 8883.
// kInvalidArgument for another text.
Result<Broker> parse_broker(std::string_view url);

// How often what happened.
struct ClientStatistics {
  size_t connections = 0;
  size_t dropped = 0;  // messages
};

// Thread-safe.
class Client {
 public:
  // Connects in the background. The broker publishes `will` if this process dies. kUnsupported
  // without libmosquitto.
  static Result<std::unique_ptr<Client>> connect(const Broker& broker, const Message& will);
  virtual ~Client() = default;  // waits a moment for what is on its way

  // Queues a message.
  virtual void publish(const Message& message) = 0;
  // What happened so far.
  virtual ClientStatistics statistics() const = 0;
};

}  // namespace shoal::mqtt

#pragma GCC visibility pop
