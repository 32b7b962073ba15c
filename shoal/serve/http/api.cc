#include "shoal/serve/http/api.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shoal/base/printable.h"
#include "shoal/data/image.h"
#include "shoal/serve/http/classes.h"
#include "shoal/serve/http/page_reply.h"
#include "shoal/serve/protocol/documents.h"
#include "shoal/serve/protocol/metrics.h"

namespace shoal::serve {
namespace {

Reply json_reply(std::string text) {
  Reply reply;
  reply.body = std::move(text);
  return reply;
}

// Why a request was not answered.
Reply outcome_reply(const Outcome& outcome) {
  Reply reply = failure_reply(outcome.status);
  if (!outcome.retry_after) return reply;
  reply.status = 429;
  // Whole seconds are all that the header can say.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*outcome.retry_after).count();
  reply.headers = "Retry-After: " + std::to_string(std::max<int64_t>(seconds, 1)) + "\r\n";
  return reply;
}

// Inputs by position. The session checks their types when it runs.
Result<Inputs> arrange(const ServedModel& model, const std::vector<NamedTensor>& named) {
  const auto& infos = model.inputs();
  Inputs inputs(infos.size());
  for (const NamedTensor& one : named) {
    const auto it = std::ranges::find(infos, one.name, &InputInfo::name);
    if (it == infos.end()) return invalid("the model has no input " + printable(one.name, 64));
    Tensor& place = inputs[static_cast<size_t>(it - infos.begin())];
    if (place.defined()) return invalid("input " + printable(one.name, 64) + " is there twice");
    place = one.tensor;
  }
  return inputs;
}

// What the request wants of the outputs, and how.
struct WantedIndex {
  size_t index = 0;
  bool binary = false;
};

Result<std::vector<WantedIndex>> find_wanted(const ServedModel& model,
                                             const InferRequest& request) {
  const auto& names = model.outputs();
  std::vector<WantedIndex> wanted;
  if (request.outputs.empty()) {
    for (size_t i = 0; i < names.size(); ++i) wanted.push_back({i, request.binary_outputs});
  }
  for (const WantedOutput& output : request.outputs) {
    const auto it = std::ranges::find(names, output.name);
    if (it == names.end()) return invalid("the model has no output " + printable(output.name, 64));
    wanted.push_back(
        {static_cast<size_t>(it - names.begin()), output.binary.value_or(request.binary_outputs)});
  }
  return wanted;
}

Result<InferRequest> parse_request(const ServedModel& model, const Body& body) {
  if (body.json_bytes != size_t{0}) return parse_infer_request(body);
  if (model.inputs().size() != 1) {
    return invalid("a raw request needs a model with one input");
  }
  const InputInfo& input = model.inputs()[0];
  return parse_raw_request(body, input.name, input.dtype, input.dims);
}

Reply infer_reply(const ServedModel& model, const std::string& id,
                  const std::vector<WantedIndex>& wanted, Outcome outcome) {
  if (!outcome.status.ok()) return outcome_reply(outcome);
  InferResponse response{model.source().name, model.metadata().version, id, {}};
  for (const WantedIndex& one : wanted) {
    response.outputs.push_back(
        {model.outputs()[one.index], outcome.outputs[one.index], one.binary});
  }
  Message message = print(response);
  Reply reply = json_reply(std::move(message.json));
  reply.tensors = std::move(message.tensors);
  return reply;
}

std::string_view text_of(const Body& body) {
  return {reinterpret_cast<const char*>(body.bytes.data()), body.bytes.size()};
}

Job job_for(const HttpRequest& request, Inputs inputs) {
  Job job;
  job.inputs = std::move(inputs);
  job.client = request.client;
  job.arrived = request.arrived;
  job.cancel = request.cancel;
  return job;
}

}  // namespace

void Api::answer(const HttpRequest& request, const ReplyTo& done) {
  const auto call = parse_call(request.target);
  if (!call) {
    return done(failure_reply(Status(Code::kNotFound, "there is no such path")));
  }
  const std::string_view method = method_of(call->kind);
  if (request.method != method) {
    Reply reply = failure_reply(invalid("this path takes " + std::string(method)));
    reply.status = 405;
    reply.headers = "Allow: " + std::string(method) + "\r\n";
    return done(std::move(reply));
  }
  if (!request.encoding.empty() && request.encoding != "identity") {
    Reply reply = failure_reply(invalid("compressed bodies are not supported"));
    reply.status = 415;
    return done(std::move(reply));
  }
  answer_call(*call, request, done);
}

void Api::answer_call(const Call& call, const HttpRequest& request, const ReplyTo& done) {
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

bool Api::is_ready() const {
  const auto index = engine_.index(/*ready_only=*/false);
  const auto is_loading = [](const IndexEntry& entry) { return entry.state == "LOADING"; };
  return !draining_ && std::ranges::none_of(index, is_loading);
}

Result<std::shared_ptr<ServedModel>> Api::find_model(const Call& call) const {
  auto model = engine_.find(call.model);
  if (!engine_.is_known(call.model)) {
    return Status(Code::kNotFound, "there is no model " + printable(call.model, 64));
  }
  if (model == nullptr) return Status(Code::kUnavailable, "model " + call.model + " is not loaded");
  if (!call.version.empty() && call.version != model->metadata().version) {
    return Status(Code::kNotFound, "there is no version " + printable(call.version, 64));
  }
  return model;
}

// Calls that are answered at once. Triton says 400 where it is not ready.
Reply Api::document(const Call& call, const HttpRequest& request) {
  constexpr unsigned kNotReady = 400;
  switch (call.kind) {
    case CallKind::kPage:
      return page_reply(call.file, request.known_tag);
    case CallKind::kMetrics: {
      Reply reply = json_reply(print_metrics(engine_.statistics(""), options_.triton_metrics));
      reply.type = "text/plain; version=0.0.4";
      return reply;
    }
    case CallKind::kLive:
      return json_reply("{\"live\":true}");
    case CallKind::kReady: {
      const bool ready = is_ready();
      Reply reply = json_reply(ready ? "{\"ready\":true}" : "{\"ready\":false}");
      if (!ready) reply.status = kNotReady;
      return reply;
    }
    case CallKind::kServerMetadata:
      return json_reply(print_server_metadata(options_.version));
    case CallKind::kIndex: {
      const auto ready_only = parse_index_request(text_of(request.body));
      if (!ready_only.ok()) return failure_reply(ready_only.status());
      return json_reply(print(engine_.index(*ready_only)));
    }
    case CallKind::kUnload: {
      const Status unloaded = engine_.unload(call.model);
      return unloaded.ok() ? Reply() : failure_reply(unloaded);
    }
    case CallKind::kModelStatistics:
      if (call.model.empty()) return json_reply(print(engine_.statistics("")));
      break;
    default:
      break;
  }
  const auto model = find_model(call);
  if (!model.ok()) {
    Reply reply = failure_reply(model.status());
    const bool is_there = model.status().code() == Code::kUnavailable;
    if (call.kind == CallKind::kModelReady && is_there) reply.status = kNotReady;
    return reply;
  }
  if (call.kind == CallKind::kModelStatistics) {
    return json_reply(print(engine_.statistics(call.model)));
  }
  const ModelMetadata& metadata = (*model)->metadata();
  if (call.kind == CallKind::kModelConfig) {
    return json_reply(print_config(metadata, (*model)->max_batch()));
  }
  if (call.kind == CallKind::kModelReady) {
    return json_reply("{\"name\":\"" + metadata.name + "\",\"ready\":true}");
  }
  return json_reply(print(metadata));
}

void Api::infer(const Call& call, const HttpRequest& request, const ReplyTo& done) {
  const auto fail = [&](const Status& status) { done(failure_reply(status)); };
  for (;;) {  // again if the model was reloaded meanwhile
    const auto model = find_model(call);
    if (!model.ok()) return fail(model.status());
    const auto parsed = parse_request(**model, request.body);
    if (!parsed.ok()) return fail(parsed.status());
    auto inputs = arrange(**model, parsed->inputs);
    if (!inputs.ok()) return fail(inputs.status());
    const auto wanted = find_wanted(**model, *parsed);
    if (!wanted.ok()) return fail(wanted.status());
    if (parsed->priority > kLastPriority) return fail(invalid("priority is 1, 2 or 3"));

    Job job = job_for(request, *std::move(inputs));
    if (parsed->priority > 0) job.priority = parsed->priority;
    if (parsed->timeout_us > 0) {
      constexpr int64_t kLongest = 3'600'000'000;  // an hour
      job.timeout = std::chrono::microseconds(std::min(parsed->timeout_us, kLongest));
    }
    job.done = [done, model = *model, id = parsed->id, wanted = *wanted](Outcome outcome) {
      done(infer_reply(*model, id, wanted, std::move(outcome)));
    };
    if (engine_.submit(*model, job)) return;
  }
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
  for (;;) {
    const auto model = find_model(call);
    if (!model.ok()) return fail(model.status());
    const ModelSource& source = (*model)->source();
    if ((*model)->inputs().size() != 1) return fail(invalid("the model has more than one input"));
    auto input = image_for_input(*image, (*model)->inputs()[0].dims, source.preprocess);
    if (!input.ok()) return fail(input.status());
    Job job = job_for(request, {*std::move(input)});
    job.done = [done, model = *model, top](Outcome outcome) {
      if (!outcome.status.ok()) return done(outcome_reply(outcome));
      const auto classes = print_classes(*model, outcome.outputs[0], top);
      done(classes.ok() ? json_reply(*classes) : failure_reply(classes.status()));
    };
    if (engine_.submit(*model, job)) return;
  }
}

// On a thread of its own: it takes long, and those that answer requests are few.
void Api::load(const Call& call, const ReplyTo& done) {
  loader_.post([this, name = call.model, done] {
    const Status loaded = engine_.load(name);
    done(loaded.ok() ? Reply() : failure_reply(loaded));
  });
}

}  // namespace shoal::serve
