// HTTP requests and replies for the rest of the server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/serve/protocol/infer.h"
#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

// The head of a request, before its body is read. Absent fields are empty.
struct HttpHead {
  std::string method;
  std::string target;
  std::string encoding;  // of the body; empty: none
  std::string type;      // of the body
  std::string host;
  std::string origin;      // the page that a browser sends it for
  std::string fetch_site;  // whether that page is of this server, as browsers say
  std::string priority;    // Shoal-Priority
  std::string authorization;
  std::string known_tag;  // If-None-Match
  uint64_t client = 0;
};

struct HttpRequest : HttpHead {
  Body body;
  Time arrived{};
  std::stop_token cancel;  // the client is gone
};

struct Reply {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<Tensor> tensors;  // their elements follow the body, which is JSON then
  std::string headers;          // others, each with its line break
};

// The decision about a head.
struct Verdict {
  std::optional<Reply> refusal;  // nothing: the body is read, and the request answered
  uint64_t client = 0;           // for taking turns
};

using ReplyTo = std::function<void(Reply)>;

// The HTTP status of a failure: Triton's mapping, with 429 and 504 for overload.
unsigned http_status_of(Code code);
// 429 if there is a time after which to try again, unless the server is down for all clients.
Reply failure_reply(const Status& status, std::optional<Duration> retry_after = std::nullopt);
Reply failure_reply(unsigned http_status, std::string_view why);

// The lines before the body, with the empty one.
std::string head_of(const Reply& reply, bool keep_alive);

}  // namespace shoal::serve
