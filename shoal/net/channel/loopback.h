// A network inside one process, for tests: same channels, no sockets, nobody to be afraid of.
#pragma once

#include <memory>
#include <string>

#include "shoal/net/transport.h"

namespace shoal::net {

class LoopbackNetwork {
 public:
  LoopbackNetwork();
  // The way onto the network of the peer `name`. Addresses are any text. Outlives the network.
  std::unique_ptr<Transport> transport(std::string name, ChannelOptions options = {});

 private:
  class Registry;
  class Member;
  class Door;
  std::shared_ptr<Registry> registry_;
};

}  // namespace shoal::net
