// Api: answers HTTP requests by the service: the Open Inference Protocol, metrics, the page.
#pragma once

#include <functional>

#include "shoal/serve/engine/inference_service.h"
#include "shoal/serve/http/reply.h"
#include "shoal/serve/protocol/call.h"
#include "shoal/serve/protocol/device_list.h"

namespace shoal::serve {

struct ApiOptions {
  // The server's devices. Called on any thread, and must not block. Null: unknown.
  std::function<DeviceList()> devices = nullptr;
  bool triton_metrics = false;  // see print_metrics()
  bool any_name = false;        // see check_page()
};

// Thread-safe.
class Api {
 public:
  // REQUIRES: `service` outlives it.
  Api(Service& service, const ApiOptions& options) : service_(service), options_(options) {}

  // Whether to read the rest of a request.
  Verdict judge(const HttpHead& head);
  // Calls `done` once, now or later, on any thread. REQUIRES: judge() did not refuse the request.
  void answer(const HttpRequest& request, const ReplyTo& done);

 private:
  Reply document(const Call& call, const HttpRequest& request);
  void infer(const Call& call, const HttpRequest& request, const ReplyTo& done);
  void classify(const Call& call, const HttpRequest& request, const ReplyTo& done);
  void load(const Call& call, const ReplyTo& done);

  Service& service_;
  DeviceList devices() const { return options_.devices ? options_.devices() : DeviceList(); }

  const ApiOptions options_;
};

}  // namespace shoal::serve
