#include "shoal/cluster/net/address.h"

#include <charconv>

#include "shoal/base/text/printable.h"

namespace shoal::net {
namespace {

constexpr const char* kThisMachine = "127.0.0.1";

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const Status wrong = invalid("\"" + printable(text) + "\" is no address; write host:port");
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find_first_of(":[]") != std::string_view::npos)
    return wrong;
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size()) return wrong;
  return Address{std::string(host.empty() ? kThisMachine : host), std::string(port)};
}

}  // namespace shoal::net
