#include "shoal/serve/grpc/health.h"

#include <optional>

#include "inference.grpc.pb.h"

namespace shoal::grpc_door {

class Health::Check final : public Call<Check> {
 public:
  Check(Health& health, CallQueue& queue)
      : Call(queue), health_(health), writer_(&context_), finished_(*this, &Check::on_finished) {}

  void wait(Tag& begun) {
    health_.service_.RequestCheck(&context_, &request_, &writer_, queue().get(), queue().get(),
                                  &begun);
  }
  Check* another() { return new Check(health_, queue()); }
  void begin() {
    expect(1);
    const Status status = health_.locked_status_of(request_.service());
    if (status == Response::SERVICE_UNKNOWN) {
      return writer_.FinishWithError({::grpc::StatusCode::NOT_FOUND, "there is no such service"},
                                     &finished_);
    }
    Response response;
    response.set_status(status);
    writer_.Finish(response, ::grpc::Status::OK, &finished_);
  }

 private:
  void on_finished(bool) { leave(); }

  Health& health_;
  ::grpc::ServerContext context_;
  Request request_;
  ::grpc::ServerAsyncResponseWriter<Response> writer_;
  TagOf<Check> finished_;
};

// Says a status when it changes, one after another.
class Health::Watch final : public Call<Watch> {
 public:
  Watch(Health& health, CallQueue& queue)
      : Call(queue),
        health_(health),
        writer_(&context_),
        written_(*this, &Watch::on_written),
        finished_(*this, &Watch::on_finished),
        gone_(*this, &Watch::on_gone) {
    context_.AsyncNotifyWhenDone(&gone_);
  }

  void wait(Tag& begun) {
    health_.service_.RequestWatch(&context_, &request_, &writer_, queue().get(), queue().get(),
                                  &begun);
  }
  Watch* another() { return new Watch(health_, queue()); }
  void begin() {
    expect(2);  // that it is finished, and that the client is gone
    const std::scoped_lock lock(health_.mutex_);
    health_.watches_.insert(this);
    look();
  }
  // Something may be new. REQUIRES: the mutex of health is locked.
  void look() {
    if (is_writing_ || is_finished_) return;
    const Status status = health_.status_of(request_.service());
    if (said_ != status && !is_gone_) {
      is_writing_ = true;
      said_ = status;
      Response response;
      response.set_status(status);
      return writer_.Write(response, &written_);
    }
    if (!health_.has_ended_ && !is_gone_) return;
    is_finished_ = true;
    writer_.Finish(is_gone_ ? ::grpc::Status::CANCELLED
                            : ::grpc::Status(::grpc::StatusCode::UNAVAILABLE, "the server ends"),
                   &finished_);
  }

 private:
  void on_written(bool) {
    const std::scoped_lock lock(health_.mutex_);
    is_writing_ = false;
    look();
  }
  void on_gone(bool) {
    {
      const std::scoped_lock lock(health_.mutex_);
      is_gone_ = true;
      look();
    }
    leave();
  }
  void on_finished(bool) {
    {
      const std::scoped_lock lock(health_.mutex_);
      health_.watches_.erase(this);
    }
    leave();
  }

  Health& health_;
  ::grpc::ServerContext context_;
  Request request_;
  ::grpc::ServerAsyncWriter<Response> writer_;
  TagOf<Watch> written_, finished_, gone_;
  // Of the mutex of health.
  bool is_writing_ = false, is_finished_ = false, is_gone_ = false;
  std::optional<Status> said_;
};

void Health::start(CallQueue& queue) {
  (new Check(*this, queue))->start();
  (new Watch(*this, queue))->start();
}

Health::Status Health::status_of(const std::string& service) const {
  const bool is_known =
      service.empty() || service == inference::GRPCInferenceService::service_full_name();
  if (!is_known) return Response::SERVICE_UNKNOWN;
  return is_serving_ ? Response::SERVING : Response::NOT_SERVING;
}

Health::Status Health::locked_status_of(const std::string& service) const {
  const std::scoped_lock lock(mutex_);
  return status_of(service);
}

void Health::set_serving(bool is_serving) {
  const std::scoped_lock lock(mutex_);
  is_serving_ = is_serving;
  for (Watch* watch : watches_) watch->look();
}

void Health::end() {
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
  for (Watch* watch : watches_) watch->look();
}

}  // namespace shoal::grpc_door
