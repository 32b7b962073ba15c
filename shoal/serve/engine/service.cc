#include "shoal/serve/engine/service.h"

#include <algorithm>
#include <utility>

#include "shoal/base/printable.h"

namespace shoal::serve {
namespace {

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

InferResult standby_result() {
  return {Status(Code::kUnavailable, "another server answers, and this one stands by"),
          std::chrono::seconds(1),
          {}};
}

InferResult result_of(const ServedModel& model, const std::string& id,
                      const std::vector<WantedIndex>& wanted, Outcome outcome) {
  InferResult result{std::move(outcome.status), outcome.retry_after, {}};
  if (!result.status.ok()) return result;
  result.response = {model.source().name, model.metadata().version, id, {}, {}};
  if (!outcome.exits.empty()) {  // one exit's scores are the first output, whichever gave them
    std::string exits;
    for (size_t exit : outcome.exits) exits += (exits.empty() ? "" : ",") + std::to_string(exit);
    result.response.parameters["exit"] = std::move(exits);
    const bool binary = !wanted.empty() && wanted[0].binary;
    result.response.outputs.push_back({model.outputs()[0], outcome.outputs[0], binary});
    return result;
  }
  for (const WantedIndex& one : wanted) {
    result.response.outputs.push_back(
        {model.outputs()[one.index], outcome.outputs[one.index], one.binary});
  }
  return result;
}

}  // namespace

Job job_of(const Asker& asker) {
  Job job;
  job.client = asker.client;
  job.arrived = asker.arrived;
  job.timeout = asker.timeout;
  job.cancel = asker.cancel;
  return job;
}

bool Service::is_ready() const {
  const auto index = engine_.index(/*ready_only=*/false);
  const auto is_loading = [](const IndexEntry& entry) { return entry.state == "LOADING"; };
  return !draining_ && leads() && std::ranges::none_of(index, is_loading);
}

Result<std::shared_ptr<ServedModel>> Service::find_model(const ModelName& model) const {
  auto found = engine_.find(model.name);
  if (!engine_.is_known(model.name)) {
    return Status(Code::kNotFound, "there is no model " + printable(model.name, 64));
  }
  if (found == nullptr) return Status(Code::kUnavailable, "model " + model.name + " is not loaded");
  if (!model.version.empty() && model.version != found->metadata().version) {
    return Status(Code::kNotFound, "there is no version " + printable(model.version, 64));
  }
  return found;
}

std::shared_ptr<const ModelFacts> Service::find_task(const ModelName& model) const {
  const auto found = tasks_.find(model.name);
  return found == tasks_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<const ModelFacts>> Service::find_facts(const ModelName& model) const {
  auto task = find_task(model);
  if (task == nullptr) {
    SHOAL_ASSIGN(const auto found, find_model(model));
    return found->facts();
  }
  if (!model.version.empty() && model.version != task->metadata.version) {
    return Status(Code::kNotFound, "there is no version " + printable(model.version, 64));
  }
  return task;
}

void Service::set_tasks(std::unique_ptr<Chooser> chooser, TaskFacts facts) {
  chooser_ = std::move(chooser);
  tasks_ = std::move(facts);
}

Result<ModelMetadata> Service::metadata(const ModelName& model) const {
  SHOAL_ASSIGN(const auto facts, find_facts(model));
  return facts->metadata;
}

std::vector<IndexEntry> Service::index(bool ready_only) const {
  auto all = engine_.index(ready_only);
  for (const auto& [name, facts] : tasks_) all.push_back({name, "1", "READY", ""});
  return all;
}

// Those of a task are those of its variants.
Result<std::vector<NamedStatistics>> Service::statistics(const ModelName& model) const {
  if (!model.name.empty()) SHOAL_TRY(find_facts(model).status());
  if (find_task(model) == nullptr) return engine_.statistics(model.name);
  std::vector<NamedStatistics> all;
  for (NamedStatistics& one : engine_.statistics("")) {
    if (one.name.starts_with(variant_model(model.name, ""))) all.push_back(std::move(one));
  }
  return all;
}

// On a thread of its own: it takes long, and those that answer requests are few.
void Service::load(const std::string& model, std::function<void(Status)> done) {
  loader_.post([this, model, done = std::move(done)] { done(engine_.load(model)); });
}

KeyCheck Service::check_key(std::string_view authorization, KeyUse use, uint64_t address) {
  if (keys_ == nullptr) return {true, address, std::nullopt};
  return keys_->check(authorization, use, std::chrono::steady_clock::now());
}

std::optional<InferResult> Service::refusal(const std::string& model, uint64_t client,
                                            uint32_t priority) {
  if (!leads()) return standby_result();
  auto outcome = engine_.refusal(model, client, priority);
  if (!outcome) return std::nullopt;
  return InferResult{std::move(outcome->status), outcome->retry_after, {}};
}

void Service::infer(const ModelName& name, const InferRequest& request, const Asker& asker,
                    std::function<void(InferResult)> done) {
  if (is_one_of_several()) {
    if (!leads()) return done(standby_result());
    done = [this, done = std::move(done)](InferResult result) {
      done(leads() ? std::move(result) : standby_result());
    };
  }
  if (const auto task = find_task(name)) return infer_by_task(*task, request, asker, done);
  infer_by_model(name, request, asker, done);
}

void Service::infer_by_task(const ModelFacts& task, const InferRequest& request, const Asker& asker,
                            const Done& done) {
  const std::string& name = task.metadata.name;
  std::unique_lock lock(choosing_);
  const Choice choice =
      chooser_->choose(*chooser_->find_task(name), request.wish, std::chrono::steady_clock::now());
  for (const std::string& model : choice.evicted) {
    loader_.post([this, model] { (void)engine_.unload(model); });
  }
  if (choice.preloaded) {
    loader_.post([this, model = *choice.preloaded] { (void)engine_.load(model); });
  }
  if (chooser_->plan_due()) {
    loader_.post([this] { chooser_->plan(std::chrono::steady_clock::now()); });
  }
  if (choice.variant.empty()) {
    lock.unlock();
    const bool is_spent = choice.retry_after || request.wish.is_empty();
    return done({Status(is_spent ? Code::kExhausted : Code::kInvalidArgument,
                        "no variant can answer: " + choice.why),
                 choice.retry_after,
                 {}});
  }
  const std::string model = variant_model(name, choice.variant);
  InferRequest wanted = request;
  wanted.wish = {};  // the variant is what was wished
  const Done named = [done, name, variant = choice.variant,
                      number = std::to_string(choice.number)](InferResult result) {
    result.response.model_name = name;
    result.response.parameters["variant"] = variant;
    result.response.parameters["decision"] = number;
    done(std::move(result));
  };
  if (engine_.find(model) == nullptr) return load_and_infer(model, wanted, asker, named);
  lock.unlock();
  // It may have been unloaded meanwhile, for another request.
  const Done again = [this, model, wanted, asker, named](InferResult result) {
    if (result.status.code() == Code::kUnavailable && engine_.find(model) == nullptr) {
      return load_and_infer(model, wanted, asker, named);
    }
    named(std::move(result));
  };
  infer_by_model({model, ""}, wanted, asker, again);
}

void Service::load_and_infer(const std::string& model, const InferRequest& request,
                             const Asker& asker, const Done& done) {
  loader_.post([this, model, request, asker, done] {
    const Status loaded = engine_.find(model) == nullptr ? engine_.load(model) : Status();
    post_([this, loaded, model, request, asker, done] {
      if (!loaded.ok()) return done({loaded, std::nullopt, {}});
      infer_by_model({model, ""}, request, asker, done);
    });
  });
}

void Service::infer_by_model(const ModelName& name, const InferRequest& request, const Asker& asker,
                             const Done& done) {
  const auto fail = [&](Status status) { done({std::move(status), std::nullopt, {}}); };
  for (;;) {  // again if the model was reloaded meanwhile
    const auto model = find_model(name);
    if (!model.ok()) return fail(model.status());
    auto inputs = arrange(**model, request.inputs);
    if (!inputs.ok()) return fail(inputs.status());
    const auto wanted = find_wanted(**model, request);
    if (!wanted.ok()) return fail(wanted.status());
    if (request.priority > kLastPriority) return fail(invalid("priority is 1, 2 or 3"));

    Job job = job_of(asker);
    job.inputs = *std::move(inputs);
    job.wish = request.wish;
    if (request.priority > 0) job.priority = request.priority;
    if (request.timeout_us > 0) {
      constexpr int64_t kLongest = 3'600'000'000;  // an hour
      const Duration timeout = std::chrono::microseconds(std::min(request.timeout_us, kLongest));
      job.timeout = std::min(timeout, job.timeout.value_or(timeout));
    }
    job.done = [done, model = *model, id = request.id, wanted = *wanted](Outcome outcome) {
      done(result_of(*model, id, wanted, std::move(outcome)));
    };
    if (engine_.submit(*model, job)) return;
  }
}

}  // namespace shoal::serve
