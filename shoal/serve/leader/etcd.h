// Etcd: the record of an election as a key of etcd, by its JSON gateway (v3).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/http/http_client.h"
#include "shoal/serve/leader/election.h"

namespace shoal::serve {

struct EtcdOptions {
  std::vector<std::string> urls;  // of the members of one etcd cluster
  std::string name;               // of the servers among which one leads
  // The TLS context: see net::make_client_context(). Needed for https.
  std::shared_ptr<SSL_CTX> tls;
  std::chrono::milliseconds timeout{375};  // for an answer
};

// "http://127.0.0.1:2379/name", or several: "http://a:2379,http://b:2379/name".
Result<EtcdOptions> parse_etcd(std::string_view text);

// Likewise; over https, etcd's certificate must lead to those in this file (PEM), or without one to
// the system's.
Result<EtcdOptions> open_etcd(const std::string& text, const std::string& trust_file);

// A call of the gateway.
struct EtcdCall {
  std::string path, json;
};
EtcdCall print_etcd_call(const std::string& name, const StoreRequest& request);
// Parses the answer. kCorrupt if it is malformed.
Result<StoreAnswer> parse_etcd_answer(const StoreRequest& request, std::string_view json);

// Not thread-safe.
class EtcdStore {
 public:
  // REQUIRES: options.urls is not empty.
  explicit EtcdStore(EtcdOptions options) : options_(std::move(options)) {}

  // Takes at most options.timeout. If a member fails, the next request goes to the next one.
  Result<StoreAnswer> ask(const StoreRequest& request);

 private:
  Result<StoreAnswer> ask_member(const StoreRequest& request);

  const EtcdOptions options_;
  size_t member_ = 0;
  std::optional<HttpClient> client_;  // connected to it
};

}  // namespace shoal::serve
