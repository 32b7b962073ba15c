#include "shoal/serve/http/http_api.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/inputs/image.h"
#include "shoal/engine/run/scores.h"
#include "shoal/model/zoo/embedded.h"
#include "shoal/report/html/assets.h"
#include "shoal/serve/engine/served_model.h"
#include "shoal/serve/http/guard.h"
#include "shoal/serve/http/reply.h"
#include "shoal/serve/protocol/documents.h"
#include "shoal/serve/protocol/infer.h"
#include "shoal/serve/protocol/metrics.h"

namespace shoal::serve {
namespace {

// Nothing from elsewhere, nothing inline, and no framing. Pictures are those that the user chose,
// which have a blob's address.
constexpr std::string_view kPolicy =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n";

struct File {
  std::string_view type, text;
  std::string tag;
};

std::optional<File> find_file(std::string_view name) {
  if (const page::Asset* asset = page::find_asset(name)) {
    return File{asset->type, asset->text, asset->tag};
  }
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    if (sample.name != name) continue;
    const std::string_view text(reinterpret_cast<const char*>(sample.png.data()),
                                sample.png.size());
    return File{"image/png", text, page::tag_of(text)};
  }
  return std::nullopt;
}

// The file of that name from the binary: the name is looked up and goes nowhere else. Empty: the
// page itself. `known_tag` is the ETag of what the client has.
Reply page_reply(std::string_view name, std::string_view known_tag) {
  const std::optional<File> file = find_file(name.empty() ? "index.html" : name);
  if (!file) return failure_reply(Status(Code::kNotFound, "there is no such path"));
  Reply reply;
  reply.type = file->type;
  reply.headers = std::string(kPolicy) +
                  // A browser keeps it, and asks each time whether it is still the same.
                  "Cache-Control: no-cache\r\nETag: " + file->tag + "\r\n";
  if (known_tag == file->tag) {
    reply.status = 304;
  } else {
    reply.body = file->text;
  }
  return reply;
}

// {"model_name","model_version","top":[{"index","label","score","share"}]}, best first.
// The first output has the scores; parameters of the answer follow. kInvalidArgument if it holds no
// scores of one example.
Result<std::string> print_classes(const ModelFacts& model, const InferResponse& response,
                                  size_t top) {
  const Tensor& scores = response.outputs.at(0).tensor;
  const Shape& shape = scores.shape();
  if (scores.dtype() != DType::kF32 || shape.rank() == 0 || scores.count() < 2 ||
      scores.count() != shape[shape.rank() - 1]) {
    return invalid("the model is no classifier: its first output is " + to_string(scores.type()));
  }
  const std::vector<std::string>& labels = model.source.labels;
  std::string text = "{\"model_name\":" + json_text(response.model_name) +
                     ",\"model_version\":" + json_text(response.model_version) + ",\"top\":[";
  const char* separator = "";
  for (const fit::RankedClass& one : fit::top_classes(scores.data<float>(), top)) {
    const std::string label =
        one.index < labels.size() ? labels[one.index] : "class " + std::to_string(one.index);
    text += separator;
    text += "{\"index\":" + std::to_string(one.index) +
            ",\"label\":" + json_text(valid_utf8(label)) +
            ",\"score\":" + json_number(static_cast<double>(one.score)) +
            ",\"share\":" + json_number(one.probability) + "}";
    separator = ",";
  }
  text += "]";
  for (const auto& [name, value] : response.parameters) {
    text += "," + json_text(name) + ":" + json_text(valid_utf8(value));
  }
  return text + "}";
}

Reply json_reply(std::string text) {
  Reply reply;
  reply.body = std::move(text);
  return reply;
}

Result<InferRequest> parse_request(const ModelFacts& model, const Body& body) {
  if (body.json_bytes != size_t{0}) return parse_infer_request(body);
  if (model.inputs.size() != 1) {
    return invalid("a raw request needs a model with one input");
  }
  const TensorInfo& input = model.inputs[0];
  return parse_raw_request(body, input.name, *input.dtype, input.sizes());
}

Reply infer_reply(InferResult result) {
  if (!result.status.ok()) return failure_reply(result.status, result.retry_after);
  Message message = print(result.response);
  Reply reply = json_reply(std::move(message.json));
  reply.tensors = std::move(message.tensors);
  return reply;
}

// For a request whose body, which may have another priority, is not read yet.
uint32_t priority_of(std::string_view header) {
  if (header.size() != 1) return kUsualPriority;
  const auto priority = static_cast<uint32_t>(header[0] - '0');
  return priority >= kFirstPriority && priority <= kLastPriority ? priority : kUsualPriority;
}

// Whether it lets the server compute.
bool works(CallKind kind) {
  return kind == CallKind::kInfer || kind == CallKind::kClassify || route_of(kind).changes;
}

std::string_view text_of(const Body& body) {
  return {reinterpret_cast<const char*>(body.bytes.data()), body.bytes.size()};
}

ModelName model_of(const Call& call) { return {call.model, call.version}; }

Asker asker_of(const HttpRequest& request) {
  return {request.client, request.arrived, std::nullopt, request.cancel};
}

}  // namespace

Verdict Api::judge(const HttpHead& head) {
  uint64_t client = head.client;
  const auto refuse = [&](Reply reply) { return Verdict{std::move(reply), client}; };
  const auto call = parse_call(head.target);
  if (!call || route_of(call->kind).needs_key) {
    const KeyUse use = call && works(call->kind) ? KeyUse::kWork : KeyUse::kDocument;
    const KeyCheck key = service_.check_key(head.authorization, use, client);
    if (!key.is_known) {
      Reply reply = failure_reply(401, "this needs a key: Authorization: Bearer KEY");
      reply.headers = "WWW-Authenticate: Bearer\r\n";
      return refuse(std::move(reply));
    }
    client = key.client;
    if (key.retry_after) {
      const Status too_many(Code::kExhausted, "too many requests with this key");
      return refuse(failure_reply(too_many, key.retry_after));
    }
  }
  if (!call) return refuse(failure_reply(404, "there is no such path"));
  const Route& route = route_of(call->kind);
  if (head.method != route.method) {
    Reply reply = failure_reply(405, "this path takes " + std::string(route.method));
    reply.headers = "Allow: " + std::string(route.method) + "\r\n";
    return refuse(std::move(reply));
  }
  if (!head.encoding.empty() && head.encoding != "identity") {
    return refuse(failure_reply(415, "compressed bodies are not supported"));
  }
  if (auto reply = check_page(head, route, options_.any_name)) return refuse(*std::move(reply));
  if (call->kind == CallKind::kInfer || call->kind == CallKind::kClassify) {
    const auto refusal = service_.refusal(call->model, client, priority_of(head.priority));
    if (refusal) return refuse(failure_reply(refusal->status, refusal->retry_after));
  }
  return {std::nullopt, client};
}

void Api::answer(const HttpRequest& request, const ReplyTo& done) {
  const Call call = *parse_call(request.target);
  switch (call.kind) {
    case CallKind::kInfer:
      return infer(call, request, done);
    case CallKind::kClassify:
      return classify(call, request, done);
    case CallKind::kLoad:
      return load(call, done);
    default:
      return done(document(call, request));
  }
}

// Calls that are answered at once. Triton says 400 where it is not ready.
Reply Api::document(const Call& call, const HttpRequest& request) {
  constexpr unsigned kNotReady = 400;
  switch (call.kind) {
    case CallKind::kPage:
      return page_reply(call.file, request.known_tag);
    case CallKind::kMetrics: {
      Reply reply =
          json_reply(print_metrics(service_.engine().statistics(""), options_.triton_metrics));
      if (service_.is_one_of_several()) reply.body += print_leader_metric(service_.leads());
      reply.type = "text/plain; version=0.0.4";
      return reply;
    }
    case CallKind::kLive:
      return json_reply("{\"live\":true}");
    case CallKind::kReady: {
      const bool ready = service_.is_ready();
      Reply reply = json_reply(ready ? "{\"ready\":true}" : "{\"ready\":false}");
      if (!ready) reply.status = kNotReady;
      return reply;
    }
    case CallKind::kServerMetadata:
      return json_reply(print_server_metadata(service_.version(), service_.chooser() != nullptr));
    case CallKind::kIndex: {
      const auto ready_only = parse_index_request(text_of(request.body));
      if (!ready_only.ok()) return failure_reply(ready_only.status());
      return json_reply(print(service_.index(*ready_only)));
    }
    case CallKind::kCatalog:
      if (service_.chooser() == nullptr) return failure_reply(404, "there is no catalog");
      return json_reply(service_.chooser()->print());
    case CallKind::kDevices:
      return json_reply(print(devices()));
    case CallKind::kPlan: {
      auto picture = print_plan(devices(), call.model);
      return picture ? json_reply(*std::move(picture))
                     : failure_reply(404, "there is no such plan");
    }
    case CallKind::kUnload: {
      const Status unloaded = service_.engine().unload(call.model);
      return unloaded.ok() ? Reply() : failure_reply(unloaded);
    }
    case CallKind::kModelStatistics:
      if (call.model.empty()) return json_reply(print(service_.engine().statistics("")));
      break;
    default:
      break;
  }
  const auto model = service_.find_facts(model_of(call));
  if (!model.ok()) {
    Reply reply = failure_reply(model.status());
    const bool is_there = model.status().code() == Code::kUnavailable;
    if (call.kind == CallKind::kModelReady && is_there) reply.status = kNotReady;
    return reply;
  }
  if (call.kind == CallKind::kModelStatistics) {
    return json_reply(print(*service_.statistics(model_of(call))));
  }
  const ModelMetadata& metadata = (*model)->metadata;
  if (call.kind == CallKind::kModelConfig) {
    return json_reply(print_config(metadata, (*model)->max_batch));
  }
  if (call.kind == CallKind::kModelReady) {
    const bool ready = service_.leads();
    Reply reply =
        json_reply("{\"name\":\"" + metadata.name + "\",\"ready\":" + (ready ? "true}" : "false}"));
    if (!ready) reply.status = kNotReady;
    return reply;
  }
  return json_reply(print(metadata));
}

void Api::infer(const Call& call, const HttpRequest& request, const ReplyTo& done) {
  const auto model = service_.find_facts(model_of(call));
  auto parsed = model.ok() ? parse_request(**model, request.body) : model.status();
  if (!parsed.ok()) return done(failure_reply(parsed.status()));
  if (parsed->priority == 0) parsed->priority = priority_of(request.priority);
  service_.infer(model_of(call), *parsed, asker_of(request),
                 [done](InferResult result) { done(infer_reply(std::move(result))); });
}

void Api::classify(const Call& call, const HttpRequest& request, const ReplyTo& done) {
  const auto fail = [&](const Status& status) { done(failure_reply(status)); };
  size_t top = 5;
  if (const auto text = query_value(call.query, "top")) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), top);
    if (error != std::errc() || end != text->data() + text->size() || top == 0) {
      return fail(invalid("top is a number above 0"));
    }
  }
  const auto image = parse_image(request.body.bytes);
  if (!image.ok()) return fail(image.status());
  const auto model = service_.find_facts(model_of(call));
  if (!model.ok()) return fail(model.status());
  const ModelFacts& facts = **model;
  if (facts.inputs.size() != 1) return fail(invalid("the model has more than one input"));
  auto input = image_for_input(*image, facts.inputs[0].sizes(), facts.source.preprocess);
  if (!input.ok()) return fail(input.status());
  InferRequest wanted;
  wanted.priority = priority_of(request.priority);
  wanted.inputs = {{facts.inputs[0].name, *std::move(input)}};
  service_.infer(model_of(call), wanted, asker_of(request),
                 [done, model = *model, top](const InferResult& result) {
                   if (!result.status.ok()) {
                     return done(failure_reply(result.status, result.retry_after));
                   }
                   const auto classes = print_classes(*model, result.response, top);
                   done(classes.ok() ? json_reply(*classes) : failure_reply(classes.status()));
                 });
}

void Api::load(const Call& call, const ReplyTo& done) {
  service_.load(call.model, [done](const Status& loaded) {
    done(loaded.ok() ? Reply() : failure_reply(loaded));
  });
}

}  // namespace shoal::serve
