// The gRPC door: a library that open_grpc_door() of serve loads.
//
// One thread does what gRPC has to do. It translates messages, refuses what would be refused
// anyway, answers what takes no longer than to wake another thread would be worth, and hands the
// rest to threads of the server that may compute. Requests of a stream are answered one after
// another, so that a client cannot have more on its way than it reads.
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "inference.grpc.pb.h"
#include "shoal/base/machine/machine.h"
#include "shoal/cluster/net/address.h"
#include "shoal/serve/engine/door.h"
#include "shoal/serve/grpc/calls.h"
#include "shoal/serve/grpc/grpc_messages.h"
#include "shoal/serve/grpc/health.h"

namespace shoal::grpc_door {
namespace {

using serve::Asker;
using serve::Backend;
using serve::InferResult;
using serve::KeyUse;
using serve::ModelName;
using Context = ::grpc::ServerContext;
using Service = inference::GRPCInferenceService::AsyncService;
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

// Whether the key may be used now, and its client.
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

// What the calls of one queue share.
struct Hall {
  Backend& backend;
  Service& service;
  const std::atomic<bool>& ends;  // inferences are refused, so that clients ask another server
  CallQueue queue;

  // Calls `done` once, now or on another thread. Takes the tensors out of the message. REQUIRES: it
  // is called on the thread that serves.
  void infer(inference::ModelInferRequest& message, Asker asker,
             std::function<void(InferResult)> done) {
    auto request = parse(message);
    if (!request.ok()) return done({request.status(), std::nullopt, {}});
    auto refusal = backend.refusal(message.model_name(), asker.client, priority_of(*request));
    if (refusal) return done(*std::move(refusal));
    ModelName model{message.model_name(), message.model_version()};
    if (!queue.is_crowded() && backend.is_quick(model.name)) {
      asker.is_passing = true;
      return backend.infer(model, *request, asker, std::move(done));
    }
    backend.post([this, request = *std::move(request), asker = std::move(asker),
                  done = std::move(done),
                  model = std::move(model)] { backend.infer(model, request, asker, done); });
  }

  void cancel(std::stop_source& stop) {
    stop.request_stop();
    backend.post([this] { backend.cancel_stopped(); });  // which may compute
  }
};

// A call with one request and one answer that needs no model.
template <class Request, class Response>
class Document final : public Call<Document<Request, Response>> {
 public:
  using Writer = ::grpc::ServerAsyncResponseWriter<Response>;
  using Done = std::function<void(const Status&)>;
  struct Kind {
    Hall& hall;
    void (Service::*wait)(Context*, Request*, Writer*, ::grpc::CompletionQueue*,
                          ::grpc::ServerCompletionQueue*, void*);
    std::optional<KeyUse> use;  // nothing: it needs no key
    // Calls `done` once, now or later.
    std::function<void(const Request&, Response&, Done done)> answer;
  };

  explicit Document(std::shared_ptr<const Kind> kind)
      : Call<Document>(kind->hall.queue),
        kind_(std::move(kind)),
        writer_(&context_),
        finished_(*this, &Document::on_finished) {}

  void wait(Tag& begun) {
    ::grpc::ServerCompletionQueue* const queue = this->queue().get();
    (kind_->hall.service.*kind_->wait)(&context_, &request_, &writer_, queue, queue, &begun);
  }
  Document* another() { return new Document(kind_); }
  void begin() {
    this->expect(1);
    ::grpc::Status key;
    if (kind_->use) {
      uint64_t client = address_of(context_);
      key = check_key(kind_->hall.backend, authorization_of(context_), *kind_->use, client);
    }
    if (!key.ok()) return writer_.FinishWithError(key, &finished_);
    kind_->answer(request_, response_, [this](const Status& status) {
      if (status.ok()) return writer_.Finish(response_, ::grpc::Status::OK, &finished_);
      writer_.FinishWithError(print(status), &finished_);
    });
  }

 private:
  void on_finished(bool) { this->leave(); }

  const std::shared_ptr<const Kind> kind_;
  Context context_;
  Request request_;
  Response response_;
  Writer writer_;
  TagOf<Document> finished_;
};

// One request for a model.
class InferCall final : public Call<InferCall> {
 public:
  explicit InferCall(Hall& hall)
      : Call(hall.queue),
        hall_(hall),
        writer_(&context_),
        finished_(*this, &InferCall::on_finished),
        gone_(*this, &InferCall::on_gone) {
    context_.AsyncNotifyWhenDone(&gone_);
  }

  void wait(Tag& begun) {
    hall_.service.RequestModelInfer(&context_, &request_, &writer_, queue().get(), queue().get(),
                                    &begun);
  }
  InferCall* another() { return new InferCall(hall_); }
  void begin() {
    expect(2);  // that it is finished, and that the client needs it no longer
    if (hall_.ends) return finish({::grpc::StatusCode::UNAVAILABLE, "the server ends"});
    uint64_t client = address_of(context_);
    const ::grpc::Status key =
        check_key(hall_.backend, authorization_of(context_), KeyUse::kWork, client);
    if (!key.ok()) return finish(key);
    Asker asker{client, SteadyClock::now(), std::nullopt, stop_.get_token()};
    if (context_.deadline() != SystemClock::time_point::max()) {
      asker.timeout = std::max(context_.deadline() - SystemClock::now(), SystemClock::duration(0));
    }
    hall_.infer(request_, std::move(asker), [this](const InferResult& result) { answer(result); });
  }

 private:
  void answer(const InferResult& result) {
    if (result.retry_after) {
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*result.retry_after);
      context_.AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(wait.count()));
    }
    if (!result.status.ok()) return finish(print(result.status));
    inference::ModelInferResponse response;
    print(result.response, response);
    is_answered_ = true;
    writer_.Finish(response, ::grpc::Status::OK, &finished_);
  }
  void finish(const ::grpc::Status& status) {
    is_answered_ = true;
    writer_.FinishWithError(status, &finished_);
  }
  void on_finished(bool) { leave(); }
  void on_gone(bool) {
    if (!is_answered_ && context_.IsCancelled()) hall_.cancel(stop_);
    leave();
  }

  Hall& hall_;
  Context context_;
  inference::ModelInferRequest request_;
  ::grpc::ServerAsyncResponseWriter<inference::ModelInferResponse> writer_;
  TagOf<InferCall> finished_, gone_;
  std::stop_source stop_;
  std::atomic<bool> is_answered_ = false;
};

// A stream of requests.
class InferStream final : public Call<InferStream> {
 public:
  explicit InferStream(Hall& hall)
      : Call(hall.queue),
        hall_(hall),
        stream_(&context_),
        read_(*this, &InferStream::on_read),
        written_(*this, &InferStream::on_written),
        finished_(*this, &InferStream::on_finished),
        gone_(*this, &InferStream::on_gone) {
    context_.AsyncNotifyWhenDone(&gone_);
  }

  void wait(Tag& begun) {
    hall_.service.RequestModelStreamInfer(&context_, &stream_, queue().get(), queue().get(),
                                          &begun);
  }
  InferStream* another() { return new InferStream(hall_); }
  void begin() {
    expect(2);  // that it is finished, and that the client needs it no longer
    authorization_ = authorization_of(context_);
    address_ = address_of(context_);
    stream_.Read(&request_, &read_);
  }

 private:
  void on_read(bool ok) {
    if (!ok) return stream_.Finish(::grpc::Status::OK, &finished_);
    uint64_t client = address_;
    const ::grpc::Status key = check_key(hall_.backend, authorization_, KeyUse::kWork, client);
    if (key.error_code() == ::grpc::StatusCode::UNAUTHENTICATED) {
      return stream_.Finish(key, &finished_);
    }
    if (!key.ok()) return fail(key.error_message());
    Asker asker{client, SteadyClock::now(), std::nullopt, stop_.get_token()};
    hall_.infer(request_, std::move(asker), [this](const InferResult& result) { answer(result); });
  }
  void on_written(bool ok) {
    if (!ok) return stream_.Finish(::grpc::Status::CANCELLED, &finished_);
    stream_.Read(&request_, &read_);
  }
  void on_finished(bool) { leave(); }
  void on_gone(bool) {
    if (context_.IsCancelled()) hall_.cancel(stop_);
    leave();
  }

  void answer(const InferResult& result) {
    if (!result.status.ok()) return fail(std::string(result.status.message()));
    inference::ModelStreamInferResponse response;
    print(result.response, *response.mutable_infer_response());
    stream_.Write(response, &written_);
  }
  void fail(const std::string& why) {
    inference::ModelStreamInferResponse response;
    response.set_error_message(why);
    response.mutable_infer_response()->set_id(request_.id());
    stream_.Write(response, &written_);
  }

  Hall& hall_;
  Context context_;
  std::string authorization_;
  uint64_t address_ = 0;
  inference::ModelInferRequest request_;
  ::grpc::ServerAsyncReaderWriter<inference::ModelStreamInferResponse, inference::ModelInferRequest>
      stream_;
  TagOf<InferStream> read_, written_, finished_, gone_;
  std::stop_source stop_;
};

template <class Request>
ModelName name_of(const Request& request) {
  return {request.name(), request.version()};
}

// Waits for calls that are answered at once, by answer(request, response).
template <class Request, class Response, class F>
void offer(Hall& hall,
           void (Service::*wait)(Context*, Request*, ::grpc::ServerAsyncResponseWriter<Response>*,
                                 ::grpc::CompletionQueue*, ::grpc::ServerCompletionQueue*, void*),
           std::optional<KeyUse> use, const F& answer) {
  using Call = Document<Request, Response>;
  const auto then = [answer](const Request& request, Response& response,
                             const typename Call::Done& done) { done(answer(request, response)); };
  (new Call(
       std::make_shared<const typename Call::Kind>(typename Call::Kind{hall, wait, use, then})))
      ->start();
}

void offer_documents(Hall& hall) {
  using namespace inference;  // NOLINT: names of the protocol
  Backend& backend = hall.backend;
  offer<ServerLiveRequest, ServerLiveResponse>(hall, &Service::RequestServerLive, std::nullopt,
                                               [](const auto&, auto& response) {
                                                 response.set_live(true);
                                                 return Status();
                                               });
  offer<ServerReadyRequest, ServerReadyResponse>(hall, &Service::RequestServerReady, std::nullopt,
                                                 [&backend](const auto&, auto& response) {
                                                   response.set_ready(backend.is_ready());
                                                   return Status();
                                                 });
  offer<ServerMetadataRequest, ServerMetadataResponse>(
      hall, &Service::RequestServerMetadata, KeyUse::kDocument,
      [&backend](const auto&, auto& response) {
        response.set_name("shoal");
        response.set_version(backend.version());
        for (const char* name : {"model_repository", "statistics"}) response.add_extensions(name);
        return Status();
      });
  offer<ModelReadyRequest, ModelReadyResponse>(
      hall, &Service::RequestModelReady, KeyUse::kDocument,
      [&backend](const auto& request, auto& response) {
        const Status found = backend.metadata(name_of(request)).status();
        response.set_ready(found.ok() && backend.leads());
        return found.code() == Code::kUnavailable ? Status() : found;  // not ready, but there
      });
  offer<ModelMetadataRequest, ModelMetadataResponse>(
      hall, &Service::RequestModelMetadata, KeyUse::kDocument,
      [&backend](const auto& request, auto& response) -> Status {
        SHOAL_ASSIGN(const serve::ModelMetadata metadata, backend.metadata(name_of(request)));
        print(metadata, response);
        return {};
      });
  offer<ModelStatisticsRequest, ModelStatisticsResponse>(
      hall, &Service::RequestModelStatistics, KeyUse::kDocument,
      [&backend](const auto& request, auto& response) -> Status {
        SHOAL_ASSIGN(const auto statistics, backend.statistics(name_of(request)));
        print(statistics, response);
        return {};
      });
}

void offer_repository(Hall& hall) {
  using namespace inference;  // NOLINT: names of the protocol
  Backend& backend = hall.backend;
  offer<RepositoryIndexRequest, RepositoryIndexResponse>(
      hall, &Service::RequestRepositoryIndex, KeyUse::kDocument,
      [&backend](const auto& request, auto& response) {
        print(backend.index(request.ready()), response);
        return Status();
      });
  offer<RepositoryModelUnloadRequest, RepositoryModelUnloadResponse>(
      hall, &Service::RequestRepositoryModelUnload, KeyUse::kWork,
      [&backend](const auto& request, auto&) { return backend.unload(request.model_name()); });
  using Load = Document<RepositoryModelLoadRequest, RepositoryModelLoadResponse>;
  const auto load = [&backend](const auto& request, auto&, const Load::Done& done) {
    backend.load(request.model_name(), done);
  };
  (new Load(std::make_shared<const Load::Kind>(
       Load::Kind{hall, &Service::RequestRepositoryModelLoad, KeyUse::kWork, load})))
      ->start();
}

class GrpcDoor final : public serve::Door {
 public:
  GrpcDoor(Backend& backend, std::string host) : backend_(backend), host_(std::move(host)) {}
  ~GrpcDoor() override {
    if (server_ != nullptr) shut_down(SystemClock::now());
    for (std::thread& thread : threads_) thread.join();
  }

  bool listen(const std::string& port, const serve::DoorOptions& options) {
    constexpr int kHandshake = 10'000, kIdle = 75'000;  // ms, as HTTP has them
    constexpr int kMetadata = 16 * 1024;
    constexpr uint64_t kMost = std::numeric_limits<int>::max();
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort(host_ + ":" + port, credentials(options.tls), &port_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min(options.message_bytes, kMost)));
    builder.SetResourceQuota(::grpc::ResourceQuota("shoal").Resize(options.all_bytes));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshake);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdle);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadata);
    builder.RegisterService(&service_);
    builder.RegisterService(&health_.service());
    for (size_t i = 0; i < threads_for(usable_cores().size()); ++i) {
      halls_.emplace_back(
          new Hall{backend_, service_, ends_, CallQueue(builder.AddCompletionQueue())});
    }
    server_ = builder.BuildAndStart();
    for (const auto& hall : halls_) {
      server_ == nullptr ? hall->queue.get()->Shutdown() : open(*hall);
      threads_.emplace_back([&hall] { hall->queue.serve(); });
    }
    return server_ != nullptr && port_ != 0;
  }

  std::string address() const override { return host_ + ":" + std::to_string(port_); }

  void set_serving(bool is_serving) override { health_.set_serving(is_serving); }

  // gRPC cancels calls that arrive while it shuts down, which clients do not take for the server's
  // end. They are refused for a while before.
  bool drain(serve::Time deadline) override {
    constexpr std::chrono::milliseconds kGrace{500};
    set_serving(false);
    ends_ = true;
    std::this_thread::sleep_until(std::min(deadline, SteadyClock::now() + kGrace));
    const auto left =
        std::chrono::duration_cast<SystemClock::duration>(deadline - SteadyClock::now());
    shut_down(SystemClock::now() + left);
    return SteadyClock::now() < deadline;
  }

 private:
  // One where cores are few: see calls.h. A thread moves some 10,000 requests a second.
  static size_t threads_for(size_t cores) { return std::max<size_t>(cores / 4, 1); }

  // Lets gRPC wait for all kinds of calls.
  void open(Hall& hall) {
    offer_documents(hall);
    offer_repository(hall);
    (new InferCall(hall))->start();
    (new InferStream(hall))->start();
    health_.start(hall.queue);
  }

  // Calls that have begun are answered, after the deadline by cancelling them.
  void shut_down(SystemClock::time_point deadline) {
    if (std::exchange(is_shut_down_, true)) return;
    health_.end();
    server_->Shutdown(deadline);
    for (const auto& hall : halls_) hall->queue.finish();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  static std::shared_ptr<::grpc::ServerCredentials> credentials(const serve::TlsFiles& tls) {
    if (tls.key.empty()) return ::grpc::InsecureServerCredentials();
    ::grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_key_cert_pairs.push_back({tls.key, tls.certificates});
    return ::grpc::SslServerCredentials(options);
  }

  Backend& backend_;
  const std::string host_;
  int port_ = 0;
  Service service_;
  Health health_;
  std::atomic<bool> ends_ = false;
  std::vector<std::unique_ptr<Hall>> halls_;
  std::unique_ptr<::grpc::Server> server_;
  std::vector<std::thread> threads_;
  bool is_shut_down_ = false;
};

Result<std::unique_ptr<serve::Door>> open(Backend& backend, const serve::DoorOptions& options) {
  SHOAL_TRY(net::parse_interface(options.listen).status());  // numbers only
  SHOAL_ASSIGN(const net::Address address, net::parse_address(options.listen));
  std::string host = address.host.empty() ? "127.0.0.1" : address.host;
  if (host.find(':') != host.npos) host = "[" + host + "]";
  // It would write a line for each text of a request that is not UTF-8: any client could fill a
  // log, and stop the server if the log is not read.
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
