// Acceptance: accepts connections, runs their handshakes, and queues authenticated peers.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shoal/cluster/net/tls/handshake.h"
#include "shoal/cluster/net/tls/tls.h"

namespace shoal::net {

// Quota: a limit on the number of things that each peer may hold. Thread-safe.
class Quota : public std::enable_shared_from_this<Quota> {
 public:
  explicit Quota(size_t each) : each_(each) {}

  // A place, held as long as the returned pointer lives; null if `name` has used up its share.
  std::shared_ptr<void> take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (held_[name] >= each_) return nullptr;
    ++held_[name];
    return {this, [self = shared_from_this(), name](void*) { self->give(name); }};
  }

 private:
  void give(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (--held_[name] == 0) held_.erase(name);
  }

  const size_t each_;
  std::mutex mutex_;
  std::map<std::string, size_t> held_;
};

class Acceptance final : public std::enable_shared_from_this<Acceptance> {
 public:
  struct Guest {
    Introduced who;
    std::shared_ptr<void> held;  // a place in the quota
  };

  // `context` is called before every handshake: a renewed identity is shown from then on.
  Acceptance(boost::asio::io_context& io, std::function<std::shared_ptr<SSL_CTX>()> context,
             Terms terms, const TlsOptions& options);

  Status open(const boost::asio::ip::tcp::endpoint& where);
  std::string address() const { return address_; }
  Result<Guest> next(Deadline deadline);
  void close();  // returns when the port is free

 private:
  void accept();
  void take(boost::asio::ip::tcp::socket socket);
  void make_room();
  void welcome(Introduced who);
  void refuse(const Status& why) const;
  void rest();
  void close_on_thread();

  boost::asio::io_context& io_;
  const std::function<std::shared_ptr<SSL_CTX>()> context_;
  const Terms terms_;
  const TlsOptions options_;
  const std::shared_ptr<Quota> quota_;
  std::string address_;

  // Used on the thread of the io_context only.
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer resting_;
  struct Stranger {
    std::shared_ptr<Handshake> handshake;
    std::string host;
  };
  std::list<Stranger> strangers_;  // oldest first

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::deque<Guest> waiting_;
};

}  // namespace shoal::net
