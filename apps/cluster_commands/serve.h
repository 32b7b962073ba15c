// shoal serve: its settings: the models, addresses, limits and trust.
//
//   SHOAL_ASSIGN(serve::Prepared ready, serve::prepare(settings));
//   SHOAL_ASSIGN(auto server, serve::Server::start(ready.sources, *device, ready.options));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/setting.h"
#include "shoal/serve/http/http_server.h"
#include "shoal/serve/leader/leadership.h"

namespace shoal::serve {

struct Settings {
  std::vector<std::string> models = {};  // MODEL or NAME=MODEL; none, nor a catalog: the digits
  std::string catalog = {}, decision_log = {};  // a folder, a file
  std::vector<std::string> budgets = {};
  std::string special_data = {}, special_format = "folder";  // to make special networks of
  std::string cloud = {}, worker = {};                       // URLs
  std::vector<std::string> cloud_costs = {}, worker_costs = {};
  std::string remote_key = {}, remote_trust = {};  // files
  int64_t remote_timeout_ms = 1000;
  std::string listen = "127.0.0.1:8000";
  std::string grpc = {};
  std::string keys = {}, tls_certificates = {}, tls_key = {};  // files
  std::string leader_store = {}, leader_trust = {};            // URLs, a file
  double ttl = 1.5;                                            // seconds
  std::string preset = {}, labels = {};                        // of pictures: a name, a file
  int threads = 0;                                             // batches at a time; 0: one per core
  int64_t max_batch = 0;
  int64_t max_waiting = 1024;
  int64_t max_wait_ms = 1000;
  int64_t max_delay_us = 0;
  int64_t max_connections = 512;
  int64_t max_body_mb = 64;
  bool triton_metrics = false;
  std::string version = {};  // of the program
  // Called with a line for people: warnings, and changes of the leader.
  std::function<void(const std::string& line)> log = [](const std::string&) {};

  int slots() const;  // threads, as a number above 0
};

// These settings by name: catalogs and remote servers; addresses, access and other servers;
// batching and limits.
SettingList catalog_settings(Settings& settings);
SettingList access_settings(Settings& settings);
SettingList answer_settings(Settings& settings);

// A server's options, except its device.
struct Prepared {
  std::vector<ModelSource> sources;
  ServerOptions options;
  std::unique_ptr<Leadership> leadership;  // null: no other server may answer in its place
};

// Reads the files that the settings name. kInvalidArgument for invalid or contradicting settings;
// otherwise fails as these files do.
Result<Prepared> prepare(const Settings& settings);

}  // namespace shoal::serve
