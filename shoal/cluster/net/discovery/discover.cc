// Browses for announced workers through the Avahi daemon. All that comes in is untrusted: the
// number of answers is bounded, and names that no peer could have are dropped.
#include "shoal/cluster/net/discovery/discovery.h"

#ifdef SHOAL_AVAHI
#include <avahi-client/lookup.h>
#include <avahi-common/simple-watch.h>

#include <array>
#include <set>

#include "shoal/cluster/net/discovery/avahi.h"
#include "shoal/cluster/net/tls/certificate.h"

namespace shoal::net {
namespace {

using BrowserPtr = std::unique_ptr<AvahiServiceBrowser, AvahiFree<&avahi_service_browser_free>>;
using PollPtr = std::unique_ptr<AvahiSimplePoll, AvahiFree<&avahi_simple_poll_free>>;
using ResolverPtr = std::unique_ptr<AvahiServiceResolver, AvahiFree<&avahi_service_resolver_free>>;

constexpr size_t kMostFound = 1024;  // whatever is said on this network

// The name in the text of a service; empty if it has no valid worker name.
std::string name_in(AvahiStringList* text) {
  const AvahiStringList* entry = avahi_string_list_find(text, "name");
  if (entry == nullptr) return "";
  constexpr size_t kKeyBytes = 5;  // "name="
  const size_t size = avahi_string_list_get_size(const_cast<AvahiStringList*>(entry));
  if (size <= kKeyBytes) return "";
  const auto* bytes = reinterpret_cast<const char*>(
      avahi_string_list_get_text(const_cast<AvahiStringList*>(entry)));
  std::string name(bytes + kKeyBytes, size - kKeyBytes);
  return is_peer_name(name) ? name : "";
}

class Browsing {
 public:
  Status run(std::chrono::milliseconds timeout) {
    poll_.reset(avahi_simple_poll_new());
    if (poll_ == nullptr) return avahi_status(AVAHI_ERR_NO_MEMORY);
    int error = 0;
    client_.reset(avahi_client_new(
        avahi_simple_poll_get(poll_.get()), AvahiClientFlags{},
        [](AvahiClient*, AvahiClientState, void*) {}, nullptr, &error));
    if (client_ == nullptr) return avahi_status(error);
    browser_.reset(avahi_service_browser_new(client_.get(), AVAHI_IF_UNSPEC, AVAHI_PROTO_INET,
                                             kServiceType, nullptr, AvahiLookupFlags{},
                                             &Browsing::browsed, this));
    if (browser_ == nullptr) return avahi_status(avahi_client_errno(client_.get()));
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (auto left = timeout; left.count() > 0;
         left = std::chrono::duration_cast<std::chrono::milliseconds>(
             end - std::chrono::steady_clock::now())) {
      if (avahi_simple_poll_iterate(poll_.get(), static_cast<int>(left.count())) != 0) break;
    }
    return {};
  }

  std::vector<Peer> found() const {
    std::vector<Peer> workers;
    for (const auto& [name, address] : found_) workers.push_back({name, address});
    return workers;
  }

 private:
  static void browsed(AvahiServiceBrowser*, AvahiIfIndex interface, AvahiProtocol protocol,
                      AvahiBrowserEvent event, const char* title, const char* type,
                      const char* domain, AvahiLookupResultFlags, void* self) {
    auto& browsing = *static_cast<Browsing*>(self);
    if (event != AVAHI_BROWSER_NEW || browsing.resolvers_.size() >= kMostFound) return;
    ResolverPtr resolver(avahi_service_resolver_new(browsing.client_.get(), interface, protocol,
                                                    title, type, domain, AVAHI_PROTO_INET,
                                                    AvahiLookupFlags{}, &Browsing::resolved, self));
    if (resolver != nullptr) browsing.resolvers_.push_back(std::move(resolver));
  }

  static void resolved(AvahiServiceResolver*, AvahiIfIndex, AvahiProtocol, AvahiResolverEvent event,
                       const char*, const char*, const char*, const char*,
                       const AvahiAddress* address, uint16_t port, AvahiStringList* text,
                       AvahiLookupResultFlags, void* self) {
    auto& browsing = *static_cast<Browsing*>(self);
    if (event != AVAHI_RESOLVER_FOUND || browsing.found_.size() >= kMostFound) return;
    const std::string name = name_in(text);
    std::array<char, AVAHI_ADDRESS_STR_MAX> host{};
    if (name.empty() || avahi_address_snprint(host.data(), host.size(), address) == nullptr) return;
    browsing.found_.emplace(name, std::string(host.data()) + ":" + std::to_string(port));
  }

  // In this order, because members are destroyed from the last to the first.
  PollPtr poll_;
  AvahiClientPtr client_;
  BrowserPtr browser_;
  std::vector<ResolverPtr> resolvers_;
  std::set<std::pair<std::string, std::string>> found_;  // names and addresses
};

}  // namespace

Result<std::vector<Peer>> discover(std::chrono::milliseconds timeout) {
  Browsing browsing;
  SHOAL_TRY(browsing.run(timeout));
  return browsing.found();
}

}  // namespace shoal::net

#else
#include "shoal/cluster/net/discovery/not_built.h"

namespace shoal::net {

Result<std::vector<Peer>> discover(std::chrono::milliseconds) { return discovery_not_built(); }

}  // namespace shoal::net
#endif
