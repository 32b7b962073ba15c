// Health: the gRPC health service: single checks and watches.
#pragma once

#include <mutex>
#include <set>

#include "health.grpc.pb.h"
#include "shoal/serve/grpc/calls.h"

namespace shoal::grpc_door {

class Health {
 public:
  using Service = ::grpc::health::v1::Health::AsyncService;
  using Request = ::grpc::health::v1::HealthCheckRequest;
  using Response = ::grpc::health::v1::HealthCheckResponse;
  using Status = Response::ServingStatus;

  Service& service() { return service_; }
  // REQUIRES: the server has started. Once.
  void start(CallQueue& queue);
  // Thread-safe.
  void set_serving(bool is_serving);
  // Ends the watches of clients. Thread-safe.
  void end();

 private:
  class Check;
  class Watch;

  // Of the server or a service by name. REQUIRES: the mutex is locked.
  Status status_of(const std::string& service) const;
  Status locked_status_of(const std::string& service) const;

  Service service_;
  mutable std::mutex mutex_;
  bool is_serving_ = true, has_ended_ = false;
  std::set<Watch*> watches_;
};

}  // namespace shoal::grpc_door
