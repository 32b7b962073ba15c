// Calls of gRPC's asynchronous interface on a completion queue, which one thread serves. gRPC has
// one set of sockets for all threads: with a second thread, each gets events of the other's calls
// and has to wake it, which adds 25 us to a call of 75 (measured).
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>

namespace shoal::grpc_door {

// A completion queue returns it when an event has happened.
class Tag {
 public:
  virtual void happened(bool ok) = 0;

 protected:
  ~Tag() = default;
};

// Calls a member function.
template <class T>
class TagOf final : public Tag {
 public:
  using Method = void (T::*)(bool ok);
  TagOf(T& self, Method method) : self_(self), method_(method) {}
  void happened(bool ok) override { (self_.*method_)(ok); }

 private:
  T& self_;
  const Method method_;
};

// The queue, and the calls that it has begun.
class CallQueue {
 public:
  explicit CallQueue(std::unique_ptr<::grpc::ServerCompletionQueue> queue)
      : queue_(std::move(queue)), ended_(*this, &CallQueue::end) {}

  ::grpc::ServerCompletionQueue* get() { return queue_.get(); }

  // Serves calls until finish() was called and all of them have ended.
  void serve() {
    for (void* tag = nullptr;;) {
      bool ok = false;
      const auto next = queue_->AsyncNext(&tag, &ok, gpr_time_0(GPR_CLOCK_REALTIME));
      if (next == ::grpc::CompletionQueue::SHUTDOWN) return;
      ++ready_;
      if (next == ::grpc::CompletionQueue::TIMEOUT) {
        ready_ = 0;
        if (!queue_->Next(&tag, &ok)) return;
      }
      static_cast<Tag*>(tag)->happened(ok);
      if (is_over_ && open_ == 0 && !is_shut_down_) {
        is_shut_down_ = true;
        queue_->Shutdown();
      }
    }
  }
  // REQUIRES: the server has shut down. May be called on any thread, once.
  void finish() { last_.Set(queue_.get(), gpr_now(GPR_CLOCK_REALTIME), &ended_); }

  // The rest is for calls, on the thread that serves.
  bool is_over() const { return is_over_; }
  // Events come so fast that the thread should do nothing else.
  bool is_crowded() const { return ready_ >= kCrowd; }
  void begun() { ++open_; }
  void ended() { --open_; }

 private:
  static constexpr int kCrowd = 8;

  void end(bool) { is_over_ = true; }

  const std::unique_ptr<::grpc::ServerCompletionQueue> queue_;
  TagOf<CallQueue> ended_;
  ::grpc::Alarm last_;  // behind all events of the server's end
  size_t open_ = 0;     // calls that have begun and not ended
  int ready_ = 0;       // events in a row that were there at once
  bool is_over_ = false, is_shut_down_ = false;
};

// A call of kind C, which is derived from it. It deletes itself when all its events have come.
// C has
//   void wait(Tag& begun);    which makes gRPC wait for such a call;
//   C* another();             which makes a new one that waits for the next call;
//   void begin();             which is called when there is a call.
// Its operations use the tags of expect(), on any thread.
template <class C>
class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void start() { self().wait(begun_); }

 protected:
  explicit Call(CallQueue& queue) : queue_(queue), begun_(*this, &Call::on_begun) {}
  ~Call() = default;

  CallQueue& queue() { return queue_; }
  // The last action of a call in an event handler.
  void leave() {
    if (--tags_ > 0) return;
    queue_.ended();
    delete &self();
  }
  // `tags` more events will come, on the serving thread. REQUIRES: begin() has not returned.
  void expect(int tags) { tags_ += tags; }

 private:
  C& self() { return static_cast<C&>(*this); }

  void on_begun(bool ok) {
    if (!ok) {  // the server ends
      delete &self();
      return;
    }
    queue_.begun();
    if (!queue_.is_over()) self().another()->start();
    self().begin();
  }

  CallQueue& queue_;
  TagOf<Call> begun_;
  int tags_ = 0;  // that have not come yet
};

}  // namespace shoal::grpc_door
