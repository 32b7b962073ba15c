// The client's side of connecting: resolve, connect, handshake, with one deadline for all three.
// Each step runs on the io thread; finish() is called by the first of success, error and timeout,
// and the handlers of the others find `finished_` set.
#include "shoal/cluster/net/tls/dial.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "shoal/cluster/net/address.h"

namespace shoal::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class Dialling final : public std::enable_shared_from_this<Dialling> {
 public:
  Dialling(asio::io_context& io, Address address, std::shared_ptr<SSL_CTX> context, Terms terms,
           Deadline deadline)
      : io_(io),
        address_(std::move(address)),
        context_(std::move(context)),
        terms_(std::move(terms)),
        deadline_(deadline),
        resolver_(io),
        socket_(io),
        timer_(io) {}

  std::future<Result<Introduced>> start() {
    asio::post(io_, [self = shared_from_this()] { self->resolve(); });
    return promise_.get_future();
  }

 private:
  void resolve() {
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled) self->finish(Status(Code::kDeadline, "did not answer in time"));
    });
    // A number needs no name server. All names wait for one thread of Asio's, which a name server
    // that does not answer would block for all.
    boost::system::error_code is_name;
    const auto number = asio::ip::make_address(address_.host, is_name);
    if (!is_name) return connect_to({number, static_cast<uint16_t>(std::stoi(address_.port))});
    resolver_.async_resolve(address_.host, address_.port,
                            [self = shared_from_this()](const boost::system::error_code& error,
                                                        const tcp::resolver::results_type& found) {
                              if (error)
                                return self->finish(Status(Code::kUnavailable, error.message()));
                              // The deadline may have passed while this handler waited in the
                              // queue.
                              if (!self->finished_) self->connect(found);
                            });
  }

  void connect_to(const tcp::endpoint& endpoint) {
    socket_.async_connect(endpoint,
                          [self = shared_from_this()](const boost::system::error_code& error) {
                            self->connected(error);
                          });
  }

  void connect(const tcp::resolver::results_type& found) {
    asio::async_connect(
        socket_, found,
        [self = shared_from_this()](const boost::system::error_code& error, const tcp::endpoint&) {
          self->connected(error);
        });
  }

  void connected(const boost::system::error_code& error) {
    if (error) return finish(Status(Code::kUnavailable, error.message()));
    if (!finished_) shake_hands();
  }

  void shake_hands() {
    // The handshake has its own timer, with the same deadline.
    timer_.cancel();
    handshake_ = std::make_shared<Handshake>(io_, std::move(socket_), *context_,
                                             TlsStream::Side::kClient, terms_);
    handshake_->start(deadline_, [self = shared_from_this()](Result<Introduced> result) {
      self->finish(std::move(result));
      self->handshake_.reset();
    });
  }

  void finish(Result<Introduced> result) {
    if (std::exchange(finished_, true)) return;
    timer_.cancel();
    resolver_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
    promise_.set_value(std::move(result));
  }

  asio::io_context& io_;
  const Address address_;
  const std::shared_ptr<SSL_CTX> context_;  // used until the handshake is over
  const Terms terms_;
  const Deadline deadline_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<Handshake> handshake_;
  std::promise<Result<Introduced>> promise_;
  bool finished_ = false;
};

}  // namespace

Result<Introduced> dial(asio::io_context& io, std::string_view address,
                        std::shared_ptr<SSL_CTX> context, const Terms& terms, Deadline deadline) {
  SHOAL_ASSIGN(Address parsed, parse_address(address));
  auto result =
      std::make_shared<Dialling>(io, std::move(parsed), std::move(context), terms, deadline)
          ->start()
          .get();
  // A failed handshake has put the numeric address into its message already.
  if (!result.ok() && !result.status().message().starts_with(address))
    return result.status().at(address);
  return result;
}

}  // namespace shoal::net
