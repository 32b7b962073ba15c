#include "shoal/video/mqtt/client.h"

#include <charconv>

#include "shoal/base/processes/parts.h"

#ifdef SHOAL_MQTT
#include <dlfcn.h>
#include <mosquitto.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#endif

namespace shoal::mqtt {

Result<Broker> parse_broker(std::string_view url) {
  const auto refused = [] {
    return invalid("a broker is mqtt://[USER:PASSWORD@]HOST[:PORT][/PREFIX], or mqtts://");
  };
  Broker broker;
  broker.tls = url.starts_with("mqtts://");
  if (!broker.tls && !url.starts_with("mqtt://")) return refused();
  if (broker.tls) broker.port = 8883;
  std::string_view rest = url.substr(url.find("://") + 3);
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    broker.prefix = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
    // Wildcards are for those who subscribe.
    if (broker.prefix.empty() || broker.prefix.find_first_of("+#") != std::string::npos) {
      return refused();
    }
  }
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = rest.substr(0, at);
    const size_t colon = std::min(who.find(':'), who.size());
    broker.user = who.substr(0, colon);
    broker.password = who.substr(std::min(colon + 1, who.size()));
    rest = rest.substr(at + 1);
  }
  const bool bracket = rest.starts_with('[');
  const size_t host_end = bracket ? rest.find(']') : rest.find(':');
  if (bracket && host_end == std::string_view::npos) return refused();
  broker.host = bracket ? rest.substr(1, host_end - 1) : rest.substr(0, host_end);
  if (broker.host.empty()) return refused();
  rest = rest.substr(std::min(rest.size(), bracket ? host_end + 1 : host_end));
  if (rest.empty()) return broker;
  const char* const end = rest.data() + rest.size();
  const auto [parsed, error] = std::from_chars(rest.data() + 1, end, broker.port);
  if (rest.front() != ':' || error != std::errc() || parsed != end || broker.port == 0) {
    return refused();
  }
  return broker;
}

#ifdef SHOAL_MQTT
namespace {

struct Api {
  decltype(&::mosquitto_lib_init) lib_init;
  decltype(&::mosquitto_new) create;
  decltype(&::mosquitto_destroy) destroy;
  decltype(&::mosquitto_will_set) will_set;
  decltype(&::mosquitto_username_pw_set) username_pw_set;
  decltype(&::mosquitto_tls_set) tls_set;
  decltype(&::mosquitto_reconnect_delay_set) reconnect_delay_set;
  decltype(&::mosquitto_connect_callback_set) connect_callback_set;
  decltype(&::mosquitto_disconnect_callback_set) disconnect_callback_set;
  decltype(&::mosquitto_publish_callback_set) publish_callback_set;
  decltype(&::mosquitto_connect_async) connect_async;
  decltype(&::mosquitto_loop_start) loop_start;
  decltype(&::mosquitto_loop_stop) loop_stop;
  decltype(&::mosquitto_disconnect) disconnect;
  decltype(&::mosquitto_publish) publish;
};

// Null if the library is not there. It is never unloaded.
const Api* load() {
  static const auto loaded = []() -> std::unique_ptr<const Api> {
    void* const library = ::dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    auto api = std::make_unique<Api>();
    const auto find = [&](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    const bool all =
        find("mosquitto_lib_init", api->lib_init) && find("mosquitto_new", api->create) &&
        find("mosquitto_destroy", api->destroy) && find("mosquitto_will_set", api->will_set) &&
        find("mosquitto_username_pw_set", api->username_pw_set) &&
        find("mosquitto_tls_set", api->tls_set) &&
        find("mosquitto_reconnect_delay_set", api->reconnect_delay_set) &&
        find("mosquitto_connect_callback_set", api->connect_callback_set) &&
        find("mosquitto_disconnect_callback_set", api->disconnect_callback_set) &&
        find("mosquitto_publish_callback_set", api->publish_callback_set) &&
        find("mosquitto_connect_async", api->connect_async) &&
        find("mosquitto_loop_start", api->loop_start) &&
        find("mosquitto_loop_stop", api->loop_stop) &&
        find("mosquitto_disconnect", api->disconnect) && find("mosquitto_publish", api->publish);
    if (!all || api->lib_init() != MOSQ_ERR_SUCCESS) return nullptr;
    return api;
  }();
  return loaded.get();
}

constexpr int kKeepAlive = 15;  // seconds until a connection that says nothing is lost
constexpr size_t kOnTheirWay = 256;
constexpr std::chrono::milliseconds kGrace{2000};

// Calls of the library and its callbacks, which come on its thread, take the lock; the library
// holds none of its own that they need meanwhile.
class Connection : public Client {
 public:
  explicit Connection(const Api& api)
      : api_(api), client_(api.create(nullptr, /*clean_session=*/true, this)) {}

  ~Connection() override {
    const auto end = std::chrono::steady_clock::now() + kGrace;
    while (!is_idle() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    api_.disconnect(client_);
    api_.loop_stop(client_, /*force=*/false);
    api_.destroy(client_);
  }

  Status start(const Broker& broker, const Message& will) {
    if (client_ == nullptr) return Status(Code::kExhausted, "no memory for an MQTT client");
    api_.will_set(client_, will.topic.c_str(), static_cast<int>(will.payload.size()),
                  will.payload.data(), will.qos, will.retain);
    if (!broker.user.empty()) {
      api_.username_pw_set(client_, broker.user.c_str(), broker.password.c_str());
    }
    if (broker.tls && api_.tls_set(client_, nullptr, "/etc/ssl/certs", nullptr, nullptr, nullptr) !=
                          MOSQ_ERR_SUCCESS) {
      return Status(Code::kUnsupported, "this libmosquitto has no TLS");
    }
    api_.reconnect_delay_set(client_, 1, 10, /*exponential=*/true);
    api_.connect_callback_set(client_, [](::mosquitto*, void* self, int refused) {
      if (refused == 0) static_cast<Connection*>(self)->connected();
    });
    api_.disconnect_callback_set(
        client_, [](::mosquitto*, void* self, int) { static_cast<Connection*>(self)->lost(); });
    api_.publish_callback_set(
        client_, [](::mosquitto*, void* self, int) { static_cast<Connection*>(self)->sent(); });
    // A broker that is not there yet is tried again by the loop.
    const int error = api_.connect_async(client_, broker.host.c_str(), broker.port, kKeepAlive);
    if (error == MOSQ_ERR_INVAL) return invalid("no broker can be at " + broker.host);
    if (api_.loop_start(client_) != MOSQ_ERR_SUCCESS) {
      return Status(Code::kExhausted, "no thread for an MQTT client");
    }
    return {};
  }

  void publish(const Message& message) override {
    const std::lock_guard lock(mutex_);
    if (message.retain) {
      retained_[message.topic] = message;
      unsent_.insert(message.topic);
    } else if (!send(message)) {
      ++statistics_.dropped;
    }
    send_unsent();
  }

  ClientStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  // All that was taken has left, or there is no way to.
  bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return !is_connected_ || (unsent_.empty() && on_their_way_ == 0);
  }

  void connected() {
    const std::lock_guard lock(mutex_);
    is_connected_ = true;
    ++statistics_.connections;
    on_their_way_ = 0;
    for (const auto& [topic, message] : retained_) unsent_.insert(topic);
    send_unsent();
  }

  void lost() {
    const std::lock_guard lock(mutex_);
    is_connected_ = false;
  }

  void sent() {
    const std::lock_guard lock(mutex_);
    if (on_their_way_ > 0) --on_their_way_;
    send_unsent();
  }

  void send_unsent() {
    while (!unsent_.empty() && send(retained_.at(*unsent_.begin()))) {
      unsent_.erase(unsent_.begin());
    }
  }

  bool send(const Message& message) {
    if (!is_connected_ || on_their_way_ >= kOnTheirWay) return false;
    const int error = api_.publish(client_, nullptr, message.topic.c_str(),
                                   static_cast<int>(message.payload.size()), message.payload.data(),
                                   message.qos, message.retain);
    on_their_way_ += error == MOSQ_ERR_SUCCESS ? 1 : 0;
    return error == MOSQ_ERR_SUCCESS;
  }

  const Api& api_;
  ::mosquitto* const client_;

  mutable std::mutex mutex_;
  bool is_connected_ = false;
  size_t on_their_way_ = 0;
  std::map<std::string, Message> retained_;  // by topic
  std::set<std::string> unsent_;             // topics of those
  ClientStatistics statistics_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(const Broker& broker, const Message& will) {
  const Api* const api = load();
  if (api == nullptr) {
    return part_missing(Part::kMqtt, "MQTT needs libmosquitto.so.1, which cannot be loaded");
  }
  auto connection = std::make_unique<Connection>(*api);
  SHOAL_TRY(connection->start(broker, will));
  return std::unique_ptr<Client>(std::move(connection));
}

#else

Result<std::unique_ptr<Client>> Client::connect(const Broker&, const Message&) {
  return part_missing(Part::kMqtt, "this build has no MQTT");
}

#endif

}  // namespace shoal::mqtt
