#include "shoal/serve/http/guard.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>
#include <string_view>

namespace shoal::serve {
namespace {

using boost::beast::iequals;

// "localhost" and "127.0.0.1" of "localhost:8000" and "127.0.0.1:8000"; "[::1]" of "[::1]:8000".
std::string_view without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  const bool has_port =
      colon != host.npos && (bracket == host.npos ? host.find(':') == colon : colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

// Nobody else decides what these mean.
bool is_address(std::string_view host) {
  if (iequals(host, "localhost") || host.starts_with('[')) return true;
  const auto is_numeric = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  return !host.empty() && std::ranges::all_of(host, is_numeric);
}

bool is_own_origin(const HttpHead& head, bool any_name) {
  const size_t scheme = head.origin.find("://");
  if (scheme == head.origin.npos) return false;  // "null": a page that hides its origin
  return iequals(std::string_view(head.origin).substr(scheme + 3), head.host) &&
         (any_name || is_address(without_port(head.host)));
}

// The types that a form can have.
bool is_form(std::string_view type) {
  constexpr std::array<std::string_view, 3> kTypes = {"application/x-www-form-urlencoded",
                                                      "multipart/form-data", "text/plain"};
  const std::string_view name = type.substr(0, type.find_first_of("; \t"));
  return std::ranges::any_of(kTypes, [&](std::string_view one) { return iequals(one, name); });
}

}  // namespace

std::optional<Reply> check_page(const HttpHead& head, const Route& route, bool any_name) {
  if (route.method != "POST") return std::nullopt;
  const bool is_foreign_site =
      !head.fetch_site.empty() && head.fetch_site != "same-origin" && head.fetch_site != "none";
  if (is_foreign_site || (!head.origin.empty() && !is_own_origin(head, any_name))) {
    return failure_reply(403, "pages of others may not ask this server");
  }
  if (route.changes && is_form(head.type)) {
    return failure_reply(415, "send this as application/json, or without a body");
  }
  return std::nullopt;
}

}  // namespace shoal::serve
