// Leadership: this server's part in an election, on a thread that asks etcd.
//
//   Leadership leadership({.store = *parse_etcd("http://127.0.0.1:2379/digits")});
//   options.leads = [&] { return leadership.leads(); };
//   ... the server starts, and its models are warm
//   leadership.stand(server->url());
//   ... the server has drained
//   leadership.resign();
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "shoal/serve/leader/election.h"
#include "shoal/serve/leader/etcd.h"

namespace shoal::serve {

struct LeadershipOptions {
  EtcdOptions store;
  std::chrono::milliseconds ttl{1500};  // see ElectionOptions; sets the store's timeout
  std::function<void(const std::string&)> log = [](const std::string&) {};  // what changes
};

class Leadership {
 public:
  explicit Leadership(LeadershipOptions options);
  ~Leadership();  // resigns
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Becomes a candidate, under a name for people. REQUIRES: called once at most.
  void stand(const std::string& name);
  // Another may lead at once. This server answers no more.
  void resign();
  // Whether this server may answer now: called before every answer. Thread-safe.
  bool leads() const { return BootClock::now().time_since_epoch().count() < leads_until_ns_; }

 private:
  void run(Election election);
  void ask(Election& election, EtcdStore& store);
  void report();

  const LeadershipOptions options_;
  std::atomic<int64_t> leads_until_ns_ = Moment::min().time_since_epoch().count();
  bool was_leading_ = false;  // as the log says
  bool was_answered_ = true;  // by the store
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shoal::serve
