#include "shoal/cluster/net/endpoint.h"

#include <boost/asio/ip/address.hpp>

#include "shoal/base/text/printable.h"
#include "shoal/cluster/net/address.h"

namespace shoal::net {

Result<boost::asio::ip::tcp::endpoint> listening_endpoint(std::string_view text) {
  SHOAL_ASSIGN(const Address address, parse_address(text));
  boost::system::error_code error;
  const auto host = boost::asio::ip::make_address(
      address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (error)
    return invalid("cannot listen on \"" + printable(address.host) +
                   "\": write the number of an interface, 0.0.0.0 for all");
  // parse_address() has checked that the port is a number of 16 bits.
  return boost::asio::ip::tcp::endpoint(host, static_cast<uint16_t>(std::stoi(address.port)));
}

Result<Interface> parse_interface(std::string_view text) {
  SHOAL_ASSIGN(const auto endpoint, listening_endpoint(text));
  return Interface{endpoint.port(), endpoint.address().is_loopback(),
                   endpoint.address().is_unspecified()};
}

std::string to_string(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace shoal::net
