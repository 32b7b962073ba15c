// Remote: another server that may answer in place of this one: the cloud, or a machine nearby.
#pragma once

#include <functional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/serve/protocol/infer.h"
#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

// Thread-safe.
class Remote {
 public:
  virtual ~Remote() = default;

  // Whether it was reached lately and can take a request. If due, pings it in the background.
  virtual bool is_up(Time now) = 0;
  // Calls `done` once, later, on its own thread. Fails with kInvalidArgument if the server objects
  // to the request, and with kUnavailable if no answer comes, for any reason.
  virtual void infer(const std::string& model, InferRequest request,
                     std::function<void(Result<InferResponse>)> done) = 0;
};

}  // namespace shoal::serve
