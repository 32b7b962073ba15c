// Client: a connection to an MQTT broker, by libmosquitto, which is loaded when a client is made.
//
// The connection is made in the background, and again whenever it is lost. What is retained is kept
// here, the last message of each topic, and sent again after each connection: a broker that was
// restarted has forgotten it. Other messages are dropped while there is no connection, and while
// more than a few hundred are on their way: nothing grows because a broker is slow.
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
  bool retain = false;  // a state: the broker gives it to those who come later
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
  // Connects in the background. `will` is what the broker publishes when this process is gone.
  // kUnsupported without libmosquitto.
  static Result<std::unique_ptr<Client>> connect(const Broker& broker, const Message& will);
  virtual ~Client() = default;  // waits a moment for what is on its way

  // Takes a message: see the head of this file.
  virtual void publish(const Message& message) = 0;
  // What happened so far.
  virtual ClientStatistics statistics() const = 0;
};

}  // namespace shoal::mqtt

#pragma GCC visibility pop
