// What is published to an MQTT broker.
#pragma once

#include <string>

#pragma GCC visibility push(default)

namespace shoal::mqtt {

// A message. A value.
struct Message {
  std::string topic, payload;
  bool retain = false;  // a state: the broker gives it to those who come later
  int qos = 0;          // 1: at least once

  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace shoal::mqtt

#pragma GCC visibility pop
