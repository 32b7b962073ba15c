// The connection to the Avahi daemon, shared by both sides of discovery.
#pragma once

#include <avahi-client/client.h>
#include <avahi-common/error.h>

#include <memory>
#include <string>

#include "shoal/base/status.h"

namespace shoal::net {

template <auto free>
struct AvahiFree {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};

using AvahiClientPtr = std::unique_ptr<AvahiClient, AvahiFree<&avahi_client_free>>;

inline Status avahi_status(int error) {
  if (error == AVAHI_ERR_NO_DAEMON || error == AVAHI_ERR_DISCONNECTED) {
    return Status(Code::kUnavailable,
                  "no Avahi daemon runs here; addresses are listed by 'shoal cluster add NAME "
                  "ADDRESS'");
  }
  return Status(Code::kUnavailable, std::string("Avahi: ") + avahi_strerror(error));
}

}  // namespace shoal::net
