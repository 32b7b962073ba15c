#include "shoal/cluster/net/transport.h"

#include "shoal/base/text/printable.h"

namespace shoal::net {

Result<std::shared_ptr<Channel>> Transport::connect(std::string_view address, Deadline deadline,
                                                    std::string_view expected_name) {
  SHOAL_ASSIGN(std::shared_ptr<Channel> channel, connect(address, deadline));
  if (channel->peer().name == expected_name) return channel;
  const std::string found = printable(channel->peer().name);
  channel->close();
  return Status(Code::kUnavailable,
                std::string(address) + " is " + found + ", not " + printable(expected_name));
}

Status Transport::learn(std::string_view) { return {}; }

}  // namespace shoal::net
