#include "shoal/serve/http/client_pool.h"

#include <memory>

#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::serve {

Result<HttpClientOptions> client_options(const std::string& url, std::string key,
                                         const std::string& trusted) {
  HttpClientOptions client;
  client.key = std::move(key);
  if (!url.starts_with("https:")) return client;
  SHOAL_ASSIGN(net::ContextPtr context, net::make_client_context(trusted));
  client.tls = std::shared_ptr<SSL_CTX>(context.release(), SSL_CTX_free);
  return client;
}

}  // namespace shoal::serve
