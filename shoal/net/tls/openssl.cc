#include "shoal/net/tls/openssl.h"

namespace shoal::net {

std::string take_openssl_error() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace shoal::net
