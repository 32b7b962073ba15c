// All sockets share one io_context, which has one thread more than the engine has slots: a thread
// that runs a batch does nothing else, and one is left.
#include "shoal/serve/http/http_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "shoal/base/machine/malloc_arenas.h"
#include "shoal/cluster/net/endpoint.h"
#include "shoal/cluster/net/tls/tls_context.h"
#include "shoal/serve/engine/inference_service.h"
#include "shoal/serve/engine/task_loader.h"

namespace shoal::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCheck{100};  // between two looks at all connections
constexpr size_t kManyConnections = 64;

Status network_failure(const error_code& error, const std::string& where) {
  return Status(Code::kUnavailable, where + ": " + error.message());
}

}  // namespace

class Server::State {
 public:
  State(Device& device, const ServerOptions& options)
      : options_(options),
        bodies_(options.max_bodies),
        refusals_(PaceOptions{}),
        shared_{
            options.limits,
            bodies_,
            refusals_,
            nullptr,
            [this](const HttpHead& head) { return api_.judge(head); },
            [this](const HttpRequest& request, const ReplyTo& done) { api_.answer(request, done); },
            [this] { return draining_.load(); }},
        acceptor_(asio::make_strand(io_)),
        retry_(acceptor_.get_executor()),
        wake_(io_),
        check_(io_),
        tell_(io_),
        engine_(device, options.engine, [this](Time time) { wake_at(time); }),
        service_(
            engine_, options.keys.get(), options.version,
            [this](std::function<void()> task) { asio::post(io_, std::move(task)); },
            options.leads),
        api_(service_, options.api) {}

  ~State() {
    std::unique_ptr<Door> door;
    {
      const std::scoped_lock lock(door_mutex_);
      door = std::move(door_);
    }
    door.reset();  // its requests are answered on the threads that end now
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  Status listen() {
    SHOAL_TRY(prepare_tls());
    SHOAL_ASSIGN(const tcp::endpoint endpoint, net::listening_endpoint(options_.listen));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) endpoint_ = acceptor_.local_endpoint(error);
    return error ? network_failure(error, options_.listen) : Status();
  }

  Status load(const std::vector<ModelSource>& sources) {
    for (const ModelSource& source : sources) engine_.add(source);
    for (const ModelSource& source : sources) {
      if (!is_variant(source.name)) SHOAL_TRY(engine_.load(source.name));
    }
    return load_tasks();
  }

  void start() {
    accept();
    check_later();
    for (size_t i = 0; i < options_.engine.slots + 1; ++i) {
      threads_.emplace_back([this] { serve(); });
    }
  }

  // REQUIRES: start() was called.
  Status open_door() {
    if (options_.grpc.empty()) return {};
    const DoorOptions door{options_.grpc, options_.tls, options_.limits.body_bytes,
                           options_.max_bodies};
    SHOAL_ASSIGN(door_, open_grpc_door(service_, door));
    if (service_.is_one_of_several()) tell_door();
    return {};
  }

  std::string url() const { return (tls_ ? "https://" : "http://") + net::to_string(endpoint_); }
  std::string grpc_url() const { return door_ ? "grpc://" + door_->address() : std::string(); }

  bool drain() {
    const Time begin = Clock::now();
    service_.drain();
    const bool is_done = drain_connections(begin);
    return (door_ == nullptr || door_->drain(begin + options_.drain_time)) && is_done;
  }

 private:
  using Connections = std::vector<std::shared_ptr<Connection>>;

  Status prepare_tls() {
    if (options_.tls.certificates.empty()) return {};
    SHOAL_ASSIGN(net::ContextPtr context,
                 net::make_public_context(options_.tls.certificates, options_.tls.key));
    tls_.emplace(context.release());
    shared_.tls = &*tls_;
    return {};
  }

  bool is_variant(const std::string& model) const {
    for (const schedule::Task& task : options_.tasks.catalog.tasks) {
      for (const schedule::Option& option : task.options) {
        if (model == variant_model(task.name, option.variant)) return true;
      }
    }
    return false;
  }

  Status load_tasks() {
    if (options_.tasks.catalog.tasks.empty()) return {};
    TaskPlaces places;
    if (!options_.cloud.server.url.empty()) places.cloud = options_.cloud.costs;
    if (!options_.worker.server.url.empty()) places.worker = options_.worker.costs;
    SHOAL_ASSIGN(LoadedTasks loaded, serve::load_tasks(engine_, options_.tasks, places));
    service_.set_maker(options_.make_special);
    service_.set_places(remote(options_.cloud), remote(options_.worker));
    service_.set_tasks(std::make_unique<Chooser>(std::move(loaded.options), Clock::now()),
                       std::move(loaded.facts));
    return {};
  }

  static std::unique_ptr<Remote> remote(const PlaceOptions& place) {
    if (place.server.url.empty()) return nullptr;
    auto server = std::make_unique<RemoteServer>(place.server);
    server->ask();
    return server;
  }

  bool drain_connections(Time begin) {
    std::unique_lock lock(mutex_);
    draining_ = true;
    asio::post(acceptor_.get_executor(), [this] { stop_accepting(); });
    const auto is_empty = [this] { return connections_.empty(); };
    changed_.wait_until(lock, begin + options_.drain_grace, is_empty);
    drained_since_ = begin;  // from now on, check() ends those that wait for a request
    return changed_.wait_until(lock, begin + options_.drain_time, is_empty);
  }

  // What runs out of memory ends the connection that it belongs to, and no other.
  void serve() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::bad_alloc&) {
      }
    }
  }

  void accept() {
    acceptor_.async_accept(io_, [this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
      if (!error) {
        add(std::move(socket));
        return accept();
      }
      // No file descriptors are left; connections that end free some.
      retry_.expires_after(kCheck);
      retry_.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
    });
  }

  // Clients that are connected already, but wait to be accepted, would be reset by closing.
  void stop_accepting() {
    error_code error;
    acceptor_.non_blocking(true, error);
    while (!error) {
      tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (!error) add(std::move(socket));
    }
    acceptor_.close(error);
  }

  void add(tcp::socket socket) {
    const auto connection = std::shared_ptr<Connection>(
        new Connection(std::move(socket), shared_), [this](Connection* ended) { forget(ended); });
    Connections looked_at;
    {
      const std::scoped_lock lock(mutex_);
      if (connections_.size() >= options_.max_connections) looked_at = make_room();
      connections_.emplace(connection.get(), connection);
    }
    connection->start();
  }

  void forget(Connection* ended) {
    {
      const std::scoped_lock lock(mutex_);
      connections_.erase(ended);
      if (connections_.empty()) changed_.notify_all();
    }
    delete ended;
  }

  // If there are too many, shuts down an idle connection of the client that has most idle ones: the
  // one that has waited longest. Clients that open many and send nothing therefore lose theirs
  // first. Connections that are already shut down do not count. REQUIRES: mutex_ is held.
  Connections make_room() {
    Connections all = open_connections();
    const auto is_open = [](const auto& connection) { return !connection->is_shut_down(); };
    const auto open = static_cast<size_t>(std::ranges::count_if(all, is_open));
    if (open < options_.max_connections) return all;
    std::unordered_map<uint64_t, size_t> waiting;
    const auto waits = [](const Connection& connection) {
      return connection.state() != Connection::State::kAnswering && !connection.is_shut_down();
    };
    for (const auto& connection : all) waiting[connection->client()] += waits(*connection);
    Connection* longest = nullptr;
    for (const auto& connection : all) {
      if (!waits(*connection)) continue;
      const size_t count = waiting[connection->client()];
      const size_t most = longest == nullptr ? 0 : waiting[longest->client()];
      if (count < most) continue;
      const bool is_younger =
          longest != nullptr && count == most && connection->since() >= longest->since();
      if (!is_younger) longest = connection.get();
    }
    if (longest != nullptr) longest->shut_down();
    return all;
  }

  // REQUIRES: mutex_ is held, and is not when these are given up: the last owner of a connection
  // forgets it.
  Connections open_connections() const {
    Connections all;
    for (const auto& [key, weak] : connections_) {
      if (auto connection = weak.lock()) all.push_back(std::move(connection));
    }
    return all;
  }

  void wake_at(Time time) {
    wake_.expires_at(time);
    wake_.async_wait([this](error_code stopped) {
      if (!stopped) engine_.pump();
    });
  }

  void check_later() {
    check_.expires_after(kCheck);
    check_.async_wait([this](error_code stopped) {
      if (stopped) return;
      check();
      check_later();
    });
  }

  // Whether the server is ready, again and again.
  void tell_door() {
    {
      const std::scoped_lock lock(door_mutex_);
      if (door_ == nullptr) return;
      door_->set_serving(service_.is_ready());
    }
    tell_.expires_after(kCheck);
    tell_.async_wait([this](error_code stopped) {
      if (!stopped) tell_door();
    });
  }

  void check() {
    Connections all;
    bool end_idle = false;
    {
      const std::scoped_lock lock(mutex_);
      all = open_connections();
      end_idle = drained_since_ != kNever;
    }
    give_back_memory(all.size());
    const Time now = Clock::now();
    bool cancelled = false;
    for (const auto& connection : all) {
      cancelled |= connection->check(now);
      if (end_idle && connection->state() == Connection::State::kIdle) connection->shut_down();
    }
    if (cancelled) engine_.cancel_stopped();
  }

  // Ended connections leave holes in the heaps of other threads: without this, memory grew by 6 MB
  // with each 500 that came and went, up to 65 MB.
  void give_back_memory(size_t connections) {
    most_connections_ = std::max(most_connections_, connections);
    if (most_connections_ < kManyConnections || connections > most_connections_ / 2) return;
    give_back_free_pages();
    most_connections_ = connections;
  }

  const ServerOptions options_;
  // Before io_, whose handlers own connections, which use these at their end.
  BodyBudget bodies_;
  Pace refusals_;
  std::optional<asio::ssl::context> tls_;
  Connection::Shared shared_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections_;
  size_t most_connections_ = 0;  // since memory was given back; of check() alone
  asio::io_context io_;
  tcp::acceptor acceptor_;  // on a strand
  tcp::endpoint endpoint_;
  asio::steady_timer retry_, wake_, check_, tell_;
  std::atomic<bool> draining_ = false;
  Time drained_since_ = kNever;
  Engine engine_;
  Service service_;
  Api api_;
  std::vector<std::thread> threads_;
  std::mutex door_mutex_;  // held while the door is notified
  std::unique_ptr<Door> door_;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const std::vector<ModelSource>& sources,
                                              Device& device, const ServerOptions& options) {
  auto state = std::make_unique<State>(device, options);
  SHOAL_TRY(state->listen());
  SHOAL_TRY(state->load(sources));
  state->start();
  SHOAL_TRY(state->open_door());
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::string Server::url() const { return state_->url(); }

std::string Server::grpc_url() const { return state_->grpc_url(); }

bool Server::drain() { return state_->drain(); }

}  // namespace shoal::serve
