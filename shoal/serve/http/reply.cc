#include "shoal/serve/http/reply.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "shoal/serve/protocol/documents.h"

namespace shoal::serve {
namespace {

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

unsigned http_status_of(Code code) {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kInvalidArgument:
    case Code::kCorrupt:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kUnsupported:
      return 501;
    case Code::kExhausted:
    case Code::kUnavailable:
      return 503;
    case Code::kDeadline:
      return 504;
    case Code::kCancelled:
      return 499;
    case Code::kInternal:
      break;
  }
  return 500;
}

Reply failure_reply(unsigned http_status, std::string_view why) {
  Reply reply;
  reply.status = http_status;
  reply.body = print_error(why);
  return reply;
}

Reply failure_reply(const Status& status, std::optional<Duration> retry_after) {
  const bool is_too_much = retry_after && status.code() != Code::kUnavailable;
  Reply reply = failure_reply(is_too_much ? 429 : http_status_of(status.code()), status.message());
  if (!retry_after) return reply;
  // Whole seconds are all that the header can say.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*retry_after).count();
  reply.headers = "Retry-After: " + std::to_string(std::max<int64_t>(seconds, 1)) + "\r\n";
  return reply;
}

std::string head_of(const Reply& reply, bool keep_alive) {
  size_t size = reply.body.size();
  for (const Tensor& tensor : reply.tensors) size += tensor.bytes().size();
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  head += reason_of(reply.status);
  head += "\r\nContent-Type: ";
  head += reply.tensors.empty() ? reply.type : "application/octet-stream";
  head += "\r\nX-Content-Type-Options: nosniff\r\n";
  if (reply.status != 304) head += "Content-Length: " + std::to_string(size) + "\r\n";
  if (!reply.tensors.empty()) {
    head += "Inference-Header-Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  }
  head += reply.headers;
  head += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace shoal::serve
