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

  // Whether it was reached lately and has room for a request. Asks it in the background whether it
  // is there where that is due.
  virtual bool is_up(Time now) = 0;
  // Calls `done` once, later, on a thread of its own. Fails with kInvalidArgument where the server
  // objects to the request, and with kUnavailable where no answer comes, for whatever reason.
  virtual void infer(const std::string& model, InferRequest request,
                     std::function<void(Result<InferResponse>)> done) = 0;
};

}  // namespace shoal::serve
