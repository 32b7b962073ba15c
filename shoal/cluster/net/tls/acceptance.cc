// The server's side of connecting. Everything before authentication is bounded, because any host
// can reach the port: handshakes run without a thread each, at most max_strangers at a time, each
// with a deadline, and a newer stranger displaces the oldest of the host that has most, so that
// neither silent connections nor a flood from one machine can block new peers. After
// authentication, a quota for each name keeps one peer from using up all channels.
#include "shoal/cluster/net/tls/acceptance.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <future>
#include <map>
#include <string_view>
#include <utility>

#include "shoal/cluster/net/endpoint.h"

namespace shoal::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr int kBacklog = 1024;
constexpr std::chrono::milliseconds kRest{20};

}  // namespace

Acceptance::Acceptance(asio::io_context& io, std::function<std::shared_ptr<SSL_CTX>()> context,
                       Terms terms, const TlsOptions& options)
    : io_(io),
      context_(std::move(context)),
      terms_(std::move(terms)),
      options_(options),
      quota_(std::make_shared<Quota>(options.max_channels_per_peer)),
      acceptor_(io),
      resting_(io) {}

Status Acceptance::open(const tcp::endpoint& where) {
  boost::system::error_code error;
  acceptor_.open(where.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(where, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (error) return invalid("cannot listen: " + error.message()).at(to_string(where));
  address_ = to_string(acceptor_.local_endpoint());
  asio::post(io_, [self = shared_from_this()] { self->accept(); });
  return {};
}

void Acceptance::accept() {
  if (!acceptor_.is_open()) return;
  acceptor_.async_accept(
      [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
        if (!self->acceptor_.is_open()) return;
        if (error) return self->rest();
        self->take(std::move(socket));
        self->accept();
      });
}

// Accepting failed, perhaps for lack of descriptors. The pause keeps this from spinning.
void Acceptance::rest() {
  resting_.expires_after(kRest);
  resting_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->accept();
  });
}

// Cuts off the oldest stranger of the host that has most: an honest peer finishes its handshake
// long before it is the oldest, and others cannot make it so.
void Acceptance::make_room() {
  std::map<std::string_view, size_t> count;
  for (const Stranger& one : strangers_) ++count[one.host];
  const auto most = std::ranges::max_element(count, {}, [](const auto& one) { return one.second; });
  const auto victim = std::ranges::find(strangers_, most->first, &Stranger::host);
  const auto handshake = victim->handshake;  // cancel() takes it off the list
  handshake->cancel(Status(Code::kExhausted, "too many strangers at the door"));
}

void Acceptance::take(tcp::socket socket) {
  if (strangers_.size() >= options_.max_strangers) make_room();
  boost::system::error_code gone;
  std::string host = socket.remote_endpoint(gone).address().to_string();
  const auto context = context_();  // the handshake's TLS object keeps it
  const auto at = strangers_.insert(
      strangers_.end(), Stranger{std::make_shared<Handshake>(io_, std::move(socket), *context,
                                                             TlsStream::Side::kServer, terms_),
                                 std::move(host)});
  const auto stranger = at->handshake;
  stranger->start(after(options_.handshake),
                  [self = shared_from_this(), at](Result<Introduced> result) {
                    self->strangers_.erase(at);
                    if (!result.ok()) return self->refuse(result.status());
                    self->welcome(*std::move(result));
                  });
}

void Acceptance::welcome(Introduced who) {
  const std::string name = to_string(who.peer);
  auto held = quota_->take(who.peer.name);
  if (held == nullptr)
    return refuse(Status(Code::kExhausted, "has too many connections already").at(name));
  {
    const std::lock_guard lock(mutex_);
    // The peer was authenticated while close() ran; its connection ends with `who`.
    if (closed_) return;
    if (waiting_.size() < options_.max_waiting) {
      waiting_.push_back({std::move(who), std::move(held)});
      changed_.notify_all();
      return;
    }
  }
  refuse(Status(Code::kExhausted, "too many wait to be accepted").at(name));
}

void Acceptance::refuse(const Status& why) const {
  if (options_.refused) options_.refused(why);
}

Result<Acceptance::Guest> Acceptance::next(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return closed_ || !waiting_.empty(); }))
    return Status(Code::kDeadline, "nobody connected").at(address_);
  if (closed_) return Status(Code::kUnavailable, "listener is closed").at(address_);
  Guest guest = std::move(waiting_.front());
  waiting_.pop_front();
  return guest;
}

void Acceptance::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  // The acceptor belongs to the io thread. Waiting makes sure that the port is free for the next
  // listener. REQUIRES: not called on the io thread.
  std::promise<void> done;
  asio::post(io_, [&] {
    close_on_thread();
    done.set_value();
  });
  done.get_future().wait();
}

void Acceptance::close_on_thread() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  resting_.cancel();
  while (!strangers_.empty()) {
    const auto handshake = strangers_.front().handshake;
    handshake->cancel(Status(Code::kUnavailable, "listener is closed"));
  }
}

}  // namespace shoal::net
