#include <charconv>

#include "shoal/video/mqtt/client.h"

namespace shoal::mqtt {

Result<Broker> parse_broker(std::string_view url) {
  const auto refused = [] {
    return invalid("a broker is mqtt://[USER:PASSWORD@]HOST[:PORT][/PREFIX], or mqtts://");
  };
  Broker broker;
  broker.tls = url.starts_with("mqtts://");
  if (!broker.tls && !url.starts_with("mqtt://")) return refused();
  if (broker.tls) broker.port = 8883;
  std::string_view rest = url.substr(url.find("://") + 3);
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    broker.prefix = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
    // Wildcards are for those who subscribe.
    if (broker.prefix.empty() || broker.prefix.find_first_of("+#") != std::string::npos) {
      return refused();
    }
  }
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = rest.substr(0, at);
    const size_t colon = std::min(who.find(':'), who.size());
    broker.user = who.substr(0, colon);
    broker.password = who.substr(std::min(colon + 1, who.size()));
    rest = rest.substr(at + 1);
  }
  const bool bracket = rest.starts_with('[');
  const size_t host_end = bracket ? rest.find(']') : rest.find(':');
  if (bracket && host_end == std::string_view::npos) return refused();
  broker.host = bracket ? rest.substr(1, host_end - 1) : rest.substr(0, host_end);
  if (broker.host.empty()) return refused();
  rest = rest.substr(std::min(rest.size(), bracket ? host_end + 1 : host_end));
  if (rest.empty()) return broker;
  const char* const end = rest.data() + rest.size();
  const auto [parsed, error] = std::from_chars(rest.data() + 1, end, broker.port);
  if (rest.front() != ':' || error != std::errc() || parsed != end || broker.port == 0) {
    return refused();
  }
  return broker;
}

}  // namespace shoal::mqtt
