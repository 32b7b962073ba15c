#include "shoal/serve/http/remote_server.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "shoal/cluster/net/text_file.h"

namespace shoal::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kOk = 200, kBadRequest = 400, kNotFound = 404, kUnavailable = 503;
constexpr size_t kShownBytes = 300;  // of an error

std::string error_in(const HttpAnswer& answer) {
  const auto& bytes = answer.body.bytes;
  return std::string(reinterpret_cast<const char*>(bytes.data()),
                     std::min(bytes.size(), kShownBytes));
}

}  // namespace

Result<RemoteServerOptions> remote_server(const std::string& url, const std::string& key_file,
                                          const std::string& trust_file,
                                          std::chrono::milliseconds timeout) {
  std::string key, trusted;
  if (!key_file.empty()) {
    SHOAL_ASSIGN(key, net::read_secret(key_file));
    while (!key.empty() && key.back() == '\n') key.pop_back();
  }
  if (!trust_file.empty()) {
    SHOAL_ASSIGN(trusted, net::read_text(trust_file));
  }
  RemoteServerOptions options{.url = url};
  SHOAL_ASSIGN(options.client, client_options(url, key, trusted));
  options.client.timeout = timeout;
  return options;
}

RemoteServer::RemoteServer(RemoteServerOptions options)
    : options_(std::move(options)),
      clients_(options_.url, options_.client),
      waiting_(options_.most, 0) {
  for (size_t i = 0; i < options_.most; ++i) threads_.push_back(std::make_unique<TaskThread>());
}

bool RemoteServer::is_up(Time now) {
  const std::scoped_lock lock(mutex_);
  if (link_.should_ask(now)) threads_[0]->post([this] { ask(); });
  return link_.is_up() && std::ranges::find(waiting_, size_t{0}) != waiting_.end();
}

void RemoteServer::note(bool reached) {
  const std::scoped_lock lock(mutex_);
  link_.note(reached, Clock::now());
}

void RemoteServer::ask() {
  clients_.forget_all();  // they are of the time before it was gone
  Result<HttpClient> client = clients_.take();
  const auto answer = client.ok() ? client->get("/v2/health/ready") : client.status();
  note(answer.ok() && answer->status == kOk);
  if (answer.ok()) clients_.give_back(*std::move(client));
}

void RemoteServer::infer(const std::string& model, InferRequest request,
                         std::function<void(Result<InferResponse>)> done) {
  size_t thread = 0;
  {
    const std::scoped_lock lock(mutex_);
    const auto least = std::ranges::min_element(waiting_);
    thread = static_cast<size_t>(least - waiting_.begin());
    ++*least;
  }
  threads_[thread]->post([this, thread, model, request = std::move(request), done] {
    auto answer = exchange(model, request);
    {
      const std::scoped_lock lock(mutex_);
      --waiting_[thread];
    }
    done(std::move(answer));
  });
}

bool RemoteServer::load(HttpClient& client, const std::string& model) {
  const auto ready = client.get("/v2/models/" + model + "/ready");
  if (!ready.ok() || ready->status == kOk) return false;  // it is for another reason
  const auto loaded = client.post("/v2/repository/models/" + model + "/load", {});
  return loaded.ok() && loaded->status == kOk;
}

// A connection that was idle may have been closed by the server meanwhile: a new one is tried.
Result<InferResponse> RemoteServer::exchange(const std::string& model,
                                             const InferRequest& request) try {
  const Message message = print(request);
  const std::string path = "/v2/models/" + model + "/infer";
  const Time begin = Clock::now();
  Result<HttpClient> client = clients_.take();
  auto answer = client.ok() ? client->post(path, message) : client.status();
  const bool was_quick = Clock::now() - begin < options_.client.timeout / 2;
  if (client.ok() && !answer.ok() && was_quick) {
    clients_.forget_all();
    client = clients_.take();
    answer = client.ok() ? client->post(path, message) : client.status();
  }
  const bool may_load =
      answer.ok() && (answer->status == kNotFound || answer->status == kUnavailable);
  if (may_load && load(*client, model)) answer = client->post(path, message);
  const bool answers = answer.ok() && (answer->status == kOk || answer->status == kBadRequest);
  note(answers);
  if (!answer.ok()) return Status(Code::kUnavailable, std::string(answer.status().message()));
  clients_.give_back(*std::move(client));
  if (answer->status == kBadRequest) return invalid(error_in(*answer));
  if (answer->status != kOk) {
    return Status(Code::kUnavailable,
                  "the server says " + std::to_string(answer->status) + ": " + error_in(*answer));
  }
  auto response = parse_infer_response(answer->body);
  if (!response.ok()) return Status(Code::kUnavailable, std::string(response.status().message()));
  return response;
} catch (const std::bad_alloc&) {
  return Status(Code::kUnavailable, "out of memory");
}

}  // namespace shoal::serve
