#include "shoal/serve/http/load.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <string_view>
#include <vector>

#include "shoal/base/timing/closed_loop.h"
#include "shoal/base/timing/open_loop.h"
#include "shoal/model/tensor/random_tensor.h"
#include "shoal/serve/http/client_pool.h"
#include "shoal/serve/protocol/documents.h"
#include "shoal/serve/protocol/tensor_json.h"

namespace shoal::serve {
namespace {

using Clock = std::chrono::steady_clock;

std::string_view text_of(const Body& body) {
  return {reinterpret_cast<const char*>(body.bytes.data()), body.bytes.size()};
}

Result<ModelMetadata> ask_metadata(const LoadOptions& options, const HttpClientOptions& how) {
  SHOAL_ASSIGN(HttpClient client, HttpClient::connect(options.url, how));
  SHOAL_ASSIGN(const HttpAnswer answer, client.get("/v2/models/" + options.model));
  if (answer.status != 200) {
    return Status(Code::kNotFound, "the server says: " + std::string(text_of(answer.body)));
  }
  return parse_model_metadata(text_of(answer.body));
}

Result<Message> make_request(const LoadOptions& options, const HttpClientOptions& how) {
  SHOAL_ASSIGN(const ModelMetadata metadata, ask_metadata(options, how));
  InferRequest request;
  request.binary_outputs = true;
  request.timeout_us = options.timeout_us;
  std::mt19937 rng(1);
  for (const TensorMetadata& input : metadata.inputs) {
    if (!input.dtype) return invalid("input " + input.name + " has no type that can be sent");
    std::vector<int64_t> dims = input.shape;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0) dims[i] = i == 0 ? options.items : 1;
    }
    SHOAL_ASSIGN(const TensorType type, make_type(*input.dtype, dims));
    request.inputs.push_back({input.name, random_tensor(type, rng), true});
  }
  return print(request);
}

}  // namespace

Result<LoadResult> run_load(const LoadOptions& options) {
  SHOAL_ASSIGN(const HttpClientOptions how,
               client_options(options.url, options.key, options.trusted));
  SHOAL_ASSIGN(const Message message, make_request(options, how));
  const std::string path = "/v2/models/" + options.model + "/infer";
  ClientPool connections(options.url, how);
  LoadResult result;
  std::mutex mutex;
  const auto record = [&](const Result<HttpAnswer>& answer, double ms) {
    const std::scoped_lock lock(mutex);
    if (answer.ok() && answer->status == 200) return result.answered.add(ms);
    if (answer.ok() && (answer->status == 429 || answer->status == 503)) {
      return result.refused.add(ms);
    }
    if (result.failed++ > 0) return;
    result.first_failure =
        answer.ok() ? std::string(text_of(answer->body)) : std::string(answer.status().message());
  };
  const auto ask = [&]() -> Status {
    const auto begin = Clock::now();
    Result<HttpClient> client = connections.take();
    const auto answer = client.ok() ? client->post(path, message) : client.status();
    record(answer, 1e3 * std::chrono::duration<double>(Clock::now() - begin).count());
    if (answer.ok()) connections.give_back(*std::move(client));
    return {};
  };
  if (options.rate > 0) {
    const auto begin = Clock::now();
    run_open_loop({.clients = options.clients, .rate = options.rate, .time = options.time},
                  [&](size_t) { (void)ask(); });
    result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return result;
  }
  SHOAL_ASSIGN(const LoadReport report, run_closed_loop(options.clients, options.time, ask));
  result.seconds = report.seconds;
  return result;
}

}  // namespace shoal::serve
