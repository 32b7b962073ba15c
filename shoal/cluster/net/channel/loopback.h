// Loopback: a network inside one process, for tests and for the devices of one machine
// (cluster/device/board.h): the same channels, without sockets and encryption.
#pragma once

#include <memory>
#include <string>

#include "shoal/cluster/net/transport.h"

namespace shoal::net {

class LoopbackNetwork {
 public:
  LoopbackNetwork();
  // The transport of the peer `name`, which has this role for all others. Addresses are arbitrary
  // text. The transport may outlive the network.
  std::unique_ptr<Transport> transport(std::string name, ChannelOptions options = {},
                                       Role role = Role::kOwner);

 private:
  class Registry;
  class Member;
  class Door;
  std::shared_ptr<Registry> registry_;
};

}  // namespace shoal::net
