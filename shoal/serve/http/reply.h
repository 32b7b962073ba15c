// HTTP requests and replies as the rest of the server sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/serve/protocol/infer.h"
#include "shoal/serve/queue/model_queue.h"
#include "shoal/tensor/tensor.h"

namespace shoal::serve {

struct HttpRequest {
  std::string method;
  std::string target;
  std::string encoding;   // of the body; empty: none
  std::string known_tag;  // If-None-Match
  Body body;
  uint64_t client = 0;
  Time arrived{};
  std::stop_token cancel;  // the client is gone
};

struct Reply {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<Tensor> tensors;  // whose elements follow the body, which is JSON then
  std::string headers;          // others, each with its line break
};

using ReplyTo = std::function<void(Reply)>;

// The HTTP status of a failure. As Triton maps them, and 429 and 504 where there is too much to do.
unsigned http_status_of(Code code);
Reply failure_reply(const Status& status);

// The lines before the body, with the empty one.
std::string head_of(const Reply& reply, bool keep_alive);

}  // namespace shoal::serve
