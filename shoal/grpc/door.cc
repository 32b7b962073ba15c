// The gRPC door: a library that open_grpc_door() of serve loads.
//
// gRPC calls us on threads of its own, which are few. They translate messages, refuse what would be
// refused anyway, and hand the rest to threads of the server that may compute. Requests of a stream
// are answered one after another, so that a client cannot have more on its way than it reads.
#include "shoal/serve/engine/door.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "inference.grpc.pb.h"
#include "shoal/grpc/messages.h"
#include "shoal/net/address.h"

namespace shoal::grpc_door {
namespace {

using serve::Asker;
using serve::Backend;
using serve::InferResult;
using serve::KeyUse;
using serve::ModelName;
using Context = ::grpc::CallbackServerContext;
using Unary = ::grpc::ServerUnaryReactor;
using SteadyClock = std::chrono::steady_clock;
using SystemClock = std::chrono::system_clock;

std::string authorization_of(const Context& context) {
  const auto it = context.client_metadata().find("authorization");
  if (it == context.client_metadata().end()) return {};
  return {it->second.data(), it->second.size()};
}

// Clients are told apart by their addresses: "127.0.0.1" of "ipv4:127.0.0.1:40000".
uint64_t address_of(const Context& context) {
  const std::string peer = context.peer();
  return std::hash<std::string>()(peer.substr(0, peer.rfind(':')));
}

// Whether the key may be used now, and whose it is.
::grpc::Status check_key(Backend& backend, const std::string& authorization, KeyUse use,
                         uint64_t& client) {
  const serve::KeyCheck key = backend.check_key(authorization, use, client);
  if (!key.is_known) {
    return {::grpc::StatusCode::UNAUTHENTICATED, "this needs a key: authorization: Bearer KEY"};
  }
  if (key.retry_after) {
    return {::grpc::StatusCode::RESOURCE_EXHAUSTED, "too many requests with this key"};
  }
  client = key.client;
  return ::grpc::Status::OK;
}

uint32_t priority_of(const serve::InferRequest& request) {
  return request.priority == 0 ? serve::kUsualPriority : request.priority;
}

// Calls `done` once, now or on another thread.
void infer(Backend& backend, const inference::ModelInferRequest& message, const Asker& asker,
           std::function<void(InferResult)> done) {
  auto request = parse(message);
  if (!request.ok()) return done({request.status(), std::nullopt, {}});
  auto refusal = backend.refusal(message.model_name(), asker.client, priority_of(*request));
  if (refusal) return done(*std::move(refusal));
  backend.post([&backend, request = *std::move(request), asker, done = std::move(done),
                model = ModelName{message.model_name(), message.model_version()}] {
    backend.infer(model, request, asker, done);
  });
}

void cancel(Backend& backend, std::stop_source& stop) {
  stop.request_stop();
  backend.post([&backend] { backend.cancel_stopped(); });  // which may compute
}

// One request. It deletes itself.
class InferCall final : public Unary {
 public:
  InferCall(Backend& backend, Context& context, const inference::ModelInferRequest& request,
            inference::ModelInferResponse& response, uint64_t client)
      : backend_(backend), context_(context), response_(response) {
    Asker asker{client, SteadyClock::now(), std::nullopt, stop_.get_token()};
    if (context.deadline() != SystemClock::time_point::max()) {
      asker.timeout = std::max(context.deadline() - SystemClock::now(), SystemClock::duration(0));
    }
    infer(backend, request, asker, [this](const InferResult& result) { answer(result); });
  }

  void OnCancel() override { cancel(backend_, stop_); }
  void OnDone() override { delete this; }

 private:
  void answer(const InferResult& result) {
    if (result.status.ok()) print(result.response, response_);
    if (result.retry_after) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*result.retry_after);
      context_.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait.count()));
    }
    Finish(print(result.status));
  }

  Backend& backend_;
  Context& context_;
  inference::ModelInferResponse& response_;
  std::stop_source stop_;
};

// A stream of requests. It deletes itself.
class InferStream final : public ::grpc::ServerBidiReactor<inference::ModelInferRequest,
                                                           inference::ModelStreamInferResponse> {
 public:
  InferStream(Backend& backend, const Context& context)
      : backend_(backend),
        authorization_(authorization_of(context)),
        address_(address_of(context)) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(::grpc::Status::OK);
    uint64_t client = address_;
    const ::grpc::Status key = check_key(backend_, authorization_, KeyUse::kWork, client);
    if (key.error_code() == ::grpc::StatusCode::UNAUTHENTICATED) return Finish(key);
    if (!key.ok()) return fail(key.error_message());
    const Asker asker{client, SteadyClock::now(), std::nullopt, stop_.get_token()};
    infer(backend_, request_, asker, [this](const InferResult& result) { answer(result); });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(::grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnCancel() override { cancel(backend_, stop_); }
  void OnDone() override { delete this; }

 private:
  void answer(const InferResult& result) {
    if (!result.status.ok()) return fail(std::string(result.status.message()));
    response_.Clear();
    print(result.response, *response_.mutable_infer_response());
    StartWrite(&response_);
  }
  void fail(const std::string& why) {
    response_.Clear();
    response_.set_error_message(why);
    response_.mutable_infer_response()->set_id(request_.id());
    StartWrite(&response_);
  }

  Backend& backend_;
  const std::string authorization_;
  const uint64_t address_;
  std::stop_source stop_;
  inference::ModelInferRequest request_;
  inference::ModelStreamInferResponse response_;
};

class Calls final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit Calls(Backend& backend) : backend_(backend) {}

  Unary* ServerLive(Context* context, const inference::ServerLiveRequest*,
                    inference::ServerLiveResponse* response) override {
    response->set_live(true);
    return finish(*context, ::grpc::Status::OK);
  }

  Unary* ServerReady(Context* context, const inference::ServerReadyRequest*,
                     inference::ServerReadyResponse* response) override {
    response->set_ready(backend_.is_ready());
    return finish(*context, ::grpc::Status::OK);
  }

  Unary* ServerMetadata(Context* context, const inference::ServerMetadataRequest*,
                        inference::ServerMetadataResponse* response) override {
    return answer(*context, [&] {
      response->set_name("shoal");
      response->set_version(backend_.version());
      for (const char* name : {"model_repository", "statistics"}) response->add_extensions(name);
      return Status();
    });
  }

  Unary* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                    inference::ModelReadyResponse* response) override {
    return answer(*context, [&]() -> Status {
      const Status found = backend_.metadata(name_of(*request)).status();
      response->set_ready(found.ok() && backend_.leads());
      return found.code() == Code::kUnavailable ? Status() : found;  // not ready, but there
    });
  }

  Unary* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                       inference::ModelMetadataResponse* response) override {
    return answer(*context, [&]() -> Status {
      SHOAL_ASSIGN(const serve::ModelMetadata metadata, backend_.metadata(name_of(*request)));
      print(metadata, *response);
      return {};
    });
  }

  Unary* ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                         inference::ModelStatisticsResponse* response) override {
    return answer(*context, [&]() -> Status {
      SHOAL_ASSIGN(const auto statistics, backend_.statistics(name_of(*request)));
      print(statistics, *response);
      return {};
    });
  }

  Unary* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                         inference::RepositoryIndexResponse* response) override {
    return answer(*context, [&] {
      print(backend_.index(request->ready()), *response);
      return Status();
    });
  }

  Unary* RepositoryModelUnload(Context* context,
                               const inference::RepositoryModelUnloadRequest* request,
                               inference::RepositoryModelUnloadResponse*) override {
    return answer(
        *context, [&] { return backend_.unload(request->model_name()); }, KeyUse::kWork);
  }

  Unary* RepositoryModelLoad(Context* context, const inference::RepositoryModelLoadRequest* request,
                             inference::RepositoryModelLoadResponse*) override {
    uint64_t client = address_of(*context);
    const ::grpc::Status key =
        check_key(backend_, authorization_of(*context), KeyUse::kWork, client);
    if (!key.ok()) return finish(*context, key);
    Unary* const call = context->DefaultReactor();
    backend_.load(request->model_name(),
                  [call](const Status& loaded) { call->Finish(print(loaded)); });
    return call;
  }

  Unary* ModelInfer(Context* context, const inference::ModelInferRequest* request,
                    inference::ModelInferResponse* response) override {
    if (ends_) return finish(*context, {::grpc::StatusCode::UNAVAILABLE, "the server ends"});
    uint64_t client = address_of(*context);
    const ::grpc::Status key =
        check_key(backend_, authorization_of(*context), KeyUse::kWork, client);
    if (!key.ok()) return finish(*context, key);
    return new InferCall(backend_, *context, *request, *response, client);
  }

  ::grpc::ServerBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse>*
  ModelStreamInfer(Context* context) override {
    return new InferStream(backend_, *context);
  }

  // From now on, inferences are refused, so that clients ask another server.
  void end() { ends_ = true; }

 private:
  template <class Request>
  static ModelName name_of(const Request& request) {
    return {request.name(), request.version()};
  }

  static Unary* finish(Context& context, const ::grpc::Status& status) {
    Unary* const call = context.DefaultReactor();
    call->Finish(status);
    return call;
  }

  // Clients need a key where the server has keys.
  template <class F>
  Unary* answer(Context& context, const F& f, KeyUse use = KeyUse::kDocument) {
    uint64_t client = address_of(context);
    const ::grpc::Status key = check_key(backend_, authorization_of(context), use, client);
    return finish(context, key.ok() ? print(f()) : key);
  }

  Backend& backend_;
  std::atomic<bool> ends_ = false;
};

class GrpcDoor final : public serve::Door {
 public:
  GrpcDoor(Backend& backend, std::string host) : calls_(backend), host_(std::move(host)) {}
  ~GrpcDoor() override {
    if (server_ != nullptr) server_->Shutdown(SystemClock::now());
  }

  bool listen(const std::string& port, const serve::DoorOptions& options) {
    constexpr int kHandshake = 10'000, kIdle = 75'000;  // ms, as HTTP has them
    constexpr int kMetadata = 16 * 1024;
    constexpr uint64_t kMost = std::numeric_limits<int>::max();
    ::grpc::EnableDefaultHealthCheckService(true);
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort(host_ + ":" + port, credentials(options.tls), &port_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min(options.message_bytes, kMost)));
    builder.SetResourceQuota(::grpc::ResourceQuota("shoal").Resize(options.all_bytes));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshake);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdle);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadata);
    builder.RegisterService(&calls_);
    server_ = builder.BuildAndStart();
    return server_ != nullptr && port_ != 0;
  }

  std::string address() const override { return host_ + ":" + std::to_string(port_); }

  void set_serving(bool is_serving) override {
    server_->GetHealthCheckService()->SetServingStatus(is_serving);
  }

  // gRPC cancels calls that arrive while it shuts down, which clients do not take for the server's
  // end. They are refused for a while before.
  bool drain(serve::Time deadline) override {
    constexpr std::chrono::milliseconds kGrace{500};
    set_serving(false);
    calls_.end();
    std::this_thread::sleep_until(std::min(deadline, SteadyClock::now() + kGrace));
    const auto left =
        std::chrono::duration_cast<SystemClock::duration>(deadline - SteadyClock::now());
    server_->Shutdown(SystemClock::now() + left);
    return SteadyClock::now() < deadline;
  }

 private:
  static std::shared_ptr<::grpc::ServerCredentials> credentials(const serve::TlsFiles& tls) {
    if (tls.key.empty()) return ::grpc::InsecureServerCredentials();
    ::grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_key_cert_pairs.push_back({tls.key, tls.certificates});
    return ::grpc::SslServerCredentials(options);
  }

  Calls calls_;
  const std::string host_;
  int port_ = 0;
  std::unique_ptr<::grpc::Server> server_;
};

Result<std::unique_ptr<serve::Door>> open(Backend& backend, const serve::DoorOptions& options) {
  SHOAL_TRY(net::parse_interface(options.listen).status());  // numbers only
  SHOAL_ASSIGN(const net::Address address, net::parse_address(options.listen));
  std::string host = address.host.empty() ? "127.0.0.1" : address.host;
  if (host.find(':') != host.npos) host = "[" + host + "]";
  // It would write a line for each text of a request that is not UTF-8: anybody could fill a log,
  // and stop the server where nobody reads it.
  google::protobuf::SetLogHandler(nullptr);
  auto door = std::make_unique<GrpcDoor>(backend, host);
  if (!door->listen(address.port, options)) {
    return Status(Code::kUnavailable, options.listen + ": gRPC cannot listen there");
  }
  return std::unique_ptr<serve::Door>(std::move(door));
}

}  // namespace
}  // namespace shoal::grpc_door

extern "C" {

__attribute__((visibility("default"))) shoal::serve::Door* shoal_open_grpc_door(
    shoal::serve::Backend& backend, const shoal::serve::DoorOptions& options,
    shoal::Status& failure) {
  auto door = shoal::grpc_door::open(backend, options);
  if (door.ok()) return door->release();
  failure = door.status();
  return nullptr;
}

__attribute__((visibility("default"))) const char* shoal_grpc_door_version() {
  return SHOAL_VERSION;
}
}
