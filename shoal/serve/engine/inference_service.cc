#include "shoal/serve/engine/inference_service.h"

#include <algorithm>
#include <utility>

#include "shoal/base/math/hash.h"
#include "shoal/base/text/printable.h"
#include "shoal/base/threads/background_thread.h"
#include "shoal/serve/engine/model_part.h"

namespace shoal::serve {
namespace {

// Inputs by position. The session checks their types when it runs.
Result<Inputs> arrange(const ServedModel& model, const std::vector<NamedTensor>& named) {
  const auto& infos = model.inputs();
  Inputs inputs(infos.size());
  for (const NamedTensor& one : named) {
    const auto it = std::ranges::find(infos, one.name, &TensorInfo::name);
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

// Equal for equal elements.
uint64_t hash_of_inputs(const InferRequest& request) {
  uint64_t hash = 0;
  for (const NamedTensor& input : request.inputs) {
    hash = hash * 31 + hash_of(input.tensor.bytes());
  }
  return hash;
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
  job.is_passing = asker.is_passing;
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

// On a separate thread: it takes long, and the threads for requests are few.
void Service::load(const std::string& model, std::function<void(Status)> done) {
  loader_.post([this, model, done = std::move(done)] {
    const Status added = add_part(model);
    done(added.ok() ? engine_.load(model) : added);
  });
}

// Another server runs the first layers of a variant, and asks for the rest of it.
Status Service::add_part(const std::string& model) {
  const auto part = parse_part(model);
  if (!part || engine_.is_known(model) || !engine_.is_known(part->whole)) return {};
  const bool is_variant = std::ranges::any_of(
      tasks_, [&](const auto& task) { return part->whole.starts_with(task.first + "."); });
  if (!is_variant || parse_part(part->whole) || part->whole.ends_with(kMadeVariant)) return {};
  ModelSource source = part_source(engine_.source_of(part->whole), *part);
  SHOAL_TRY(source.open().status());  // refuses invalid models
  engine_.add(std::move(source));
  return {};
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
  if (const auto task = find_task(name)) {
    const Time now = std::chrono::steady_clock::now();
    return infer_by_task(
        std::make_shared<const TaskRequest>(
            TaskRequest{*chooser_->find_task(name.name), task, request, asker, std::move(done)}),
        {cloud_ != nullptr && cloud_->is_up(now), worker_ != nullptr && worker_->is_up(now)});
  }
  infer_by_model(name, request, asker, done);
}

void Service::set_places(std::unique_ptr<Remote> cloud, std::unique_ptr<Remote> worker) {
  cloud_ = std::move(cloud);
  worker_ = std::move(worker);
}

void Service::follow(const Choice& choice) {
  for (const std::string& model : choice.evicted) {
    loader_.post([this, model] { (void)engine_.unload(model); });
  }
  if (choice.preloaded) {
    loader_.post([this, model = *choice.preloaded] { (void)engine_.load(model); });
  }
  if (chooser_->plan_due()) {
    loader_.post([this] { chooser_->plan(std::chrono::steady_clock::now()); });
  }
}

void Service::infer_by_task(const Asked& asked, const Reachable& reachable) {
  std::optional<uint64_t> input;
  if (chooser_->shares(asked->task)) input = hash_of_inputs(asked->request);
  std::unique_lock lock(choosing_);
  const Choice choice = chooser_->choose(asked->task, asked->request.wish,
                                         std::chrono::steady_clock::now(), reachable, input);
  follow(choice);
  if (choice.variant.empty()) {
    lock.unlock();
    const bool is_spent = choice.retry_after || asked->request.wish.is_empty();
    return asked->done({Status(is_spent ? Code::kExhausted : Code::kInvalidArgument,
                               "no variant can answer: " + choice.why),
                        choice.retry_after,
                        {}});
  }
  if (choice.place == schedule::Place::kHere) return infer_here(asked, choice, std::move(lock));
  lock.unlock();
  if (choice.place == schedule::Place::kSplit && is_one_item(asked)) {
    return infer_split(asked, choice, reachable);
  }
  infer_elsewhere(asked, choice, reachable);
}

// Parts of networks are for one item.
bool Service::is_one_item(const Asked& asked) {
  const auto& inputs = asked->request.inputs;
  return inputs.size() == 1 && inputs[0].tensor.shape().rank() > 0 &&
         inputs[0].tensor.shape()[0] == 1;
}

void Service::infer_here(const Asked& asked, const Choice& choice,
                         std::unique_lock<std::mutex> lock) {
  const std::string model = variant_model(asked->facts->metadata.name, choice.variant);
  InferRequest wanted = asked->request;
  wanted.wish = {};  // the variant is what was wished
  if (choice.special != nullptr) wanted.outputs.clear();
  const Done then = [this, asked, choice](InferResult result) {
    if (choice.special != nullptr) return answer_by_special(asked, choice, std::move(result));
    answer(asked, choice, std::move(result));
  };
  if (engine_.find(model) == nullptr) return load_and_infer(model, wanted, asked->asker, then);
  lock.unlock();
  infer_loaded(model, wanted, asked->asker, then);
}

// It may have been unloaded meanwhile, for another request.
void Service::infer_loaded(const std::string& model, const InferRequest& request,
                           const Asker& asker, const Done& done) {
  const Done again = [this, model, request, asker, done](InferResult result) {
    if (result.status.code() == Code::kUnavailable && engine_.find(model) == nullptr) {
      return load_and_infer(model, request, asker, done);
    }
    done(std::move(result));
  };
  infer_by_model({model, ""}, request, asker, again);
}

// The general network answers where the special one does not.
void Service::answer_by_special(const Asked& asked, const Choice& choice, InferResult result) {
  if (!result.status.ok()) return answer(asked, choice, std::move(result));
  const SpecialVariant& special = *choice.special;
  const std::string& output = asked->facts->metadata.outputs[0].name;
  const auto& wanted = asked->request.outputs;
  const bool can_answer = wanted.empty() || (wanted.size() == 1 && wanted[0].name == output);
  auto scores = scores_for_all(special.network, result.response.outputs[0].tensor,
                               static_cast<int64_t>(special.classes), special.probabilities);
  const bool fell = !scores || !can_answer;
  chooser_->settle(choice, fell);
  if (!fell) {
    const bool binary = wanted.empty() ? asked->request.binary_outputs
                                       : wanted[0].binary.value_or(asked->request.binary_outputs);
    result.response.outputs = {{output, *std::move(scores), binary}};
    return answer(asked, choice, std::move(result));
  }
  const std::string model = variant_model(asked->facts->metadata.name, special.general);
  InferRequest request = asked->request;
  request.wish = {};
  const Done then = [this, asked, choice](InferResult answered) {
    answered.response.parameters["fell"] = "true";
    answer(asked, choice, std::move(answered));
  };
  infer_loaded(model, request, asked->asker, then);
}

void Service::infer_elsewhere(const Asked& asked, const Choice& choice,
                              const Reachable& reachable) {
  const std::string model = variant_model(asked->facts->metadata.name, choice.variant);
  ask_elsewhere(asked, choice, reachable, model, asked->request, std::chrono::steady_clock::now());
}

void Service::infer_split(const Asked& asked, const Choice& choice, const Reachable& reachable) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string whole = variant_model(asked->facts->metadata.name, choice.variant);
  const std::string first = name_of(ModelPart{whole, true, choice.cut});
  InferRequest here = asked->request;
  here.wish = {};
  here.outputs.clear();
  const Done then = [this, asked, choice, reachable, whole, begin](InferResult result) {
    if (!result.status.ok()) {
      chooser_->give_back(choice);
      return asked->done(std::move(result));
    }
    InferRequest sent = asked->request;
    sent.inputs = std::move(result.response.outputs);
    sent.outputs.clear();  // parts have names of their own
    ask_elsewhere(asked, choice, reachable, name_of(ModelPart{whole, false, choice.cut}),
                  std::move(sent), begin);
  };
  infer_loaded(first, here, asked->asker, then);
}

// The rest of a network has the outputs of the whole, in its order.
void Service::name_outputs(const TaskRequest& asked, InferResponse& response) {
  const auto& names = asked.facts->metadata.outputs;
  for (size_t i = 0; i < std::min(names.size(), response.outputs.size()); ++i) {
    response.outputs[i].name = names[i].name;
  }
  const auto& wanted = asked.request.outputs;
  std::erase_if(response.outputs, [&](const NamedTensor& output) {
    return !wanted.empty() &&
           std::ranges::find(wanted, output.name, &WantedOutput::name) == wanted.end();
  });
}

void Service::ask_elsewhere(const Asked& asked, const Choice& choice, const Reachable& reachable,
                            const std::string& model, InferRequest sent, Time begin) {
  const bool is_worker = choice.place == schedule::Place::kWorker;
  sent.wish = {};
  sent.binary_outputs = true;
  for (NamedTensor& input : sent.inputs) input.binary = true;
  for (WantedOutput& output : sent.outputs) output.binary.reset();
  const auto then = [this, asked, choice, reachable, is_worker,
                     begin](Result<InferResponse> answered) {
    if (answered.ok()) {
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      chooser_->note_time(choice, took.count());
      if (choice.place == schedule::Place::kSplit) name_outputs(*asked, *answered);
      for (NamedTensor& output : answered->outputs) {
        const auto wanted =
            std::ranges::find(asked->request.outputs, output.name, &WantedOutput::name);
        const bool binary = asked->request.binary_outputs;
        output.binary =
            wanted == asked->request.outputs.end() ? binary : wanted->binary.value_or(binary);
      }
      return answer(asked, choice, {Status(), std::nullopt, *std::move(answered)});
    }
    if (answered.status().code() == Code::kInvalidArgument) {
      return answer(asked, choice, {answered.status(), std::nullopt, {}});
    }
    chooser_->give_back(choice);
    Reachable others = reachable;
    (is_worker ? others.worker : others.cloud) = false;
    infer_by_task(asked, others);
  };
  (is_worker ? worker_ : cloud_)
      ->infer(model, std::move(sent), [this, then](Result<InferResponse> answered) {
        post_([then, answered = std::move(answered)] { then(answered); });
      });
}

void Service::answer(const Asked& asked, const Choice& choice, InferResult result) {
  if (result.status.ok()) {
    result.response.model_name = asked->facts->metadata.name;
    auto& parameters = result.response.parameters;
    parameters["variant"] = choice.variant;
    parameters["decision"] = std::to_string(choice.number);
    if (choice.place != schedule::Place::kHere) parameters["place"] = name_of(choice.place);
    if (chooser_->watches(asked->task) && !result.response.outputs.empty()) {
      for (const size_t best : best_classes(result.response.outputs[0].tensor)) {
        follow(asked->task,
               chooser_->note_class(asked->task, best, std::chrono::steady_clock::now()));
      }
    }
  }
  asked->done(std::move(result));
}

void Service::follow(size_t task, const ClassAdvice& advice) {
  for (const std::string& model : advice.unloaded) {
    loader_.post([this, model] { (void)engine_.unload(model); });
  }
  if (advice.make.empty()) return;
  maker_.post([this, task, classes = advice.make] {
    run_at_low_priority([&] { make_special(task, classes); });
  });
}

void Service::make_special(size_t task, const std::vector<size_t>& classes) {
  auto made = make_special_(task, classes, draining_);
  Status status = made.status();
  ModelSource source;
  source.name = variant_model(chooser_->catalog().tasks[task].name, kMadeVariant);
  if (made.ok()) {
    source.open = made->open;
    const std::string name = source.name;
    engine_.is_known(name) ? engine_.replace(std::move(source)) : engine_.add(std::move(source));
    status = engine_.load(name);
    const auto model = engine_.find(name);
    if (status.ok() && model != nullptr && model->facts()->ms > 0) {
      made->option.ms = model->facts()->ms;
    }
  }
  const Time now = std::chrono::steady_clock::now();
  if (!status.ok()) return chooser_->not_made(task, status, now);
  if (!chooser_->made(task, *made, now)) {
    (void)engine_.unload(
        variant_model(chooser_->catalog().tasks[task].name, std::string(kMadeVariant)));
  }
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
