#include "shoal/variants/catalog/specialists/specialise.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "shoal/base/math/hash.h"
#include "shoal/base/text/json_text.h"
#include "shoal/base/timing/seconds_since.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/weights/initial_weights.h"
#include "shoal/train/step/weights/rebuild.h"
#include "shoal/variants/catalog/figures.h"
#include "shoal/variants/catalog/specialists/special_network.h"

namespace shoal::catalog {
namespace {

using Clock = std::chrono::steady_clock;
using Weights = std::map<std::string, Tensor>;

class Relabelled : public Dataset {
 public:
  Relabelled(std::shared_ptr<const Dataset> all, Stream stream)
      : all_(std::move(all)), stream_(std::move(stream)) {}
  size_t size() const override { return stream_.examples.size(); }
  Result<Example> at(size_t index) const override {
    SHOAL_ASSIGN(Example example, all_->at(stream_.examples[index]));
    example.label = stream_.targets[index];
    return example;
  }
  std::string place(size_t index) const override { return all_->place(stream_.examples[index]); }

 private:
  std::shared_ptr<const Dataset> all_;
  Stream stream_;
};

Result<Tensor> as_it_is(const Tensor& features) { return features; }

std::vector<int64_t> at_places(std::span<const int64_t> all, std::span<const size_t> places) {
  std::vector<int64_t> some;
  for (size_t place : places) some.push_back(all[place]);
  return some;
}

Result<Tensor> labels_of(const Dataset& data) {
  Tensor labels({DType::kI64, {static_cast<int64_t>(data.size())}});
  for (size_t i = 0; i < data.size(); ++i) {
    SHOAL_ASSIGN(const Example example, data.at(i));
    labels.data<int64_t>()[i] = example.label;
  }
  return labels;
}

// The examples, below `count`, that are not in the stream.
std::vector<size_t> others(const Stream& stream, size_t count) {
  std::vector<size_t> all(count), left;
  std::iota(all.begin(), all.end(), size_t{0});
  std::ranges::set_difference(all, stream.examples, std::back_inserter(left));
  return left;
}

double percent_right(std::span<const Answer> answers, std::span<const int64_t> labels) {
  size_t right = 0;
  for (size_t i = 0; i < answers.size(); ++i) right += answers[i].best == labels[i] ? 1 : 0;
  return 100.0 * static_cast<double>(right) /
         static_cast<double>(std::max<size_t>(answers.size(), 1));
}

double largest_difference(const Weights& a, const Weights& b) {
  double most = 0;
  for (const auto& [name, tensor] : a) {
    const auto x = tensor.data<float>(), y = b.at(name).data<float>();
    for (size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(double{x[i]} - y[i]));
  }
  return most;
}

class Run {
 public:
  Run(Device& device, const Model& model, const Model* general, const fit::JudgedData& data,
      const SpecialiseOptions& options, const fit::TrainingCallbacks& callbacks)
      : device_(device),
        model_(model),
        general_(general == nullptr ? model : *general),
        data_(data),
        options_(options),
        callbacks_(callbacks),
        recipe_(options.recipe) {}

  Result<SpecialiseResult> run() {
    recipe_.checkpoint.clear();
    recipe_.resume = false;
    SHOAL_TRY(look_at_networks());
    const auto begin = Clock::now();
    SHOAL_ASSIGN(Preforward preforward, features(!options_.controls));
    result_.seconds_features = seconds_since(begin);
    SHOAL_ASSIGN(head_, learned_head(preforward));
    result_.seconds_head = seconds_since(begin) - result_.seconds_features;
    if (!result_.warm) SHOAL_TRY(complete(preforward));
    SHOAL_TRY(calibrate(preforward));
    SHOAL_TRY(evaluate());
    if (options_.controls) SHOAL_TRY(compare(preforward));
    if (!options_.out.empty()) SHOAL_TRY(write());
    return std::move(result_);
  }

 private:
  int64_t batch() const { return static_cast<int64_t>(recipe_.batch); }
  int64_t outputs() const { return std::ssize(options_.classes) + (options_.other > 0 ? 1 : 0); }
  int64_t other() const { return std::ssize(options_.classes); }

  Status look_at_networks() {
    // A batch of two tells its axis from those of length one.
    SHOAL_ASSIGN(const LoadedGraph two, fit::load_for_batch(model_, 2));
    SHOAL_ASSIGN(result_.at, end_of_body(two.graph, options_.at));
    SHOAL_ASSIGN(const LoadedGraph general, fit::load_for_batch(general_, 1));
    const int64_t classes = fit::classes_of(general.graph);
    for (int64_t one : options_.classes) {
      if (one >= classes) return invalid("the network has no class " + std::to_string(one));
    }
    result_.macs_general = total_macs(general.graph);
    SHOAL_ASSIGN(const Graph special, special_network(1, {}));
    result_.macs = total_macs(special);
    SHOAL_ASSIGN(const Graph lower, body(1));
    const std::string text = to_text(lower) + to_text(general.graph);
    const Preprocess& preprocess = recipe_.preprocess;
    key_ = std::to_string(hash_of(std::as_bytes(std::span(text)))) + " " +
           std::to_string(preprocess.resize) + " " + std::to_string(preprocess.crop) + " " +
           std::to_string(preprocess.stretch) + " " + std::to_string(preprocess.channels) + " " +
           std::to_string(preprocess.scale) + " " + std::to_string(preprocess.bgr) + " " +
           std::to_string(preprocess.nhwc) + " " + std::to_string(recipe_.seed) + " " +
           json_number(recipe_.hold_out) + " " + std::to_string(recipe_.limit) + " " +
           std::to_string(data_.data.training->size()) + " " + device_.info().name;
    for (const auto& list : {preprocess.mean, preprocess.std}) {
      for (float x : list) key_ += " " + json_number(double{x});
    }
    if (options_.cache.empty()) return {};
    SHOAL_ASSIGN(const std::string files, fingerprint_of(recipe_.data));
    key_ += " " + files;
    return {};
  }

  Result<Graph> body(int64_t batch) const {
    SHOAL_ASSIGN(const LoadedGraph loaded, fit::load_for_batch(model_, batch));
    return body_of(loaded.graph, result_.at);
  }

  Result<Graph> head(const Graph& body) const {
    return make_head(body[body.outputs()[0]].type, outputs(), recipe_.seed);
  }

  Result<Graph> special_network(int64_t batch, const Weights& weights) const {
    SHOAL_ASSIGN(const Graph lower, body(batch));
    SHOAL_ASSIGN(const Graph upper, head(lower));
    SHOAL_ASSIGN(const Graph learned, train::with_constants(upper, weights));
    return joined(lower, learned);
  }

  Batches in_order(const Dataset& examples, const Graph& network) const {
    return Batches(examples, fit::images_for(network, recipe_.preprocess),
                   {.batch = recipe_.batch});
  }

  // The cached features, of all examples; or, without a cache, those that the head learns from.
  // Labels are those of all examples.
  Result<Preforward> features(bool may_be_warm) {
    if (may_be_warm && !options_.cache.empty()) {
      auto known = read_preforward(options_.cache, key_);
      result_.warm = known.ok();
      if (known.ok() || known.status().code() != Code::kNotFound) return known;
    }
    const auto& [training, held_out] = data_.data;
    Preforward some;
    SHOAL_ASSIGN(some.training.labels, labels_of(*training));
    SHOAL_ASSIGN(some.held_out.labels, labels_of(*held_out));
    SHOAL_TRY(compute(training, learned_from(some.training.labels).examples, some.training));
    return some;
  }

  // What calibration needs, and the features of all other examples, which serve the next special
  // network: nothing that the head waits for.
  Status complete(Preforward& some) {
    const auto begin = Clock::now();
    const auto& [training, held_out] = data_.data;
    SHOAL_TRY(compute(held_out, stream(some.held_out.labels).examples, some.held_out));
    SHOAL_ASSIGN(const std::vector<Answer> answers, general_answers(*held_out));
    some.general = Tensor({DType::kI64, {std::ssize(answers)}});
    for (size_t i = 0; i < answers.size(); ++i) some.general.data<int64_t>()[i] = answers[i].best;
    if (!options_.cache.empty()) {
      SHOAL_TRY(compute(training, others(learned_from(some.training.labels), training->size()),
                        some.training));
      SHOAL_TRY(
          compute(held_out, others(stream(some.held_out.labels), held_out->size()), some.held_out));
      SHOAL_TRY(write_preforward(options_.cache, key_, some));
    }
    result_.seconds_rest = seconds_since(begin);
    return {};
  }
  Status compute(const std::shared_ptr<const Dataset>& data, const std::vector<size_t>& examples,
                 fit::Features& features) {
    if (body_ == nullptr) {
      SHOAL_ASSIGN(const Graph lower, body(batch()));
      SHOAL_ASSIGN(const Graph optimized, passes::optimize(lower));
      SHOAL_ASSIGN(body_, device_.compile(optimized));
    }
    const Graph& graph = body_->graph();
    TensorType all = graph[graph.outputs()[0]].type;
    const size_t row = all.bytes() / static_cast<size_t>(all.shape[0]);
    all.shape[0] = features.labels.shape()[0];
    if (features.values.type() != all) features.values = Tensor::uninitialized(all);
    if (examples.empty()) return {};
    const auto some = make_subset(data, examples);
    SHOAL_ASSIGN(const fit::Features rows,
                 fit::compute_features(*body_, in_order(*some, graph), examples.size()));
    for (size_t i = 0; i < examples.size(); ++i) {
      std::memcpy(features.values.bytes().data() + examples[i] * row,
                  rows.values.bytes().data() + i * row, row);
    }
    return {};
  }

  Result<std::vector<Answer>> general_answers(const Dataset& examples) const {
    SHOAL_ASSIGN(const LoadedGraph general, fit::load_for_batch(general_, batch()));
    return answers_of(device_, general.graph, in_order(examples, general.graph));
  }

  Stream stream(const Tensor& labels) const {
    return stream_of(labels.data<int64_t>(), options_.classes, options_.other, recipe_.seed);
  }

  // The part of the stream that the head learns from.
  Stream learned_from(const Tensor& labels) const {
    return stream_of(labels.data<int64_t>(), options_.classes, options_.other, recipe_.seed,
                     options_.per_class);
  }

  // Examples of a stream to learn from, by images. None are held out: calibration evaluates what
  // was learned.
  fit::TrainingData as_images(Stream some) const {
    return {std::make_shared<Relabelled>(data_.data.training, std::move(some)),
            std::make_shared<Relabelled>(data_.data.held_out, Stream())};
  }
  // The same by features.
  static std::shared_ptr<const Dataset> as_features(const Dataset& data, const fit::Features& all,
                                                    Stream some) {
    return std::make_shared<Relabelled>(fit::features_as_data(data, all), std::move(some));
  }

  Result<Weights> learn(fit::TrainingTask task, const fit::TrainingOptions& recipe) const {
    SHOAL_ASSIGN(fit::TrainingLoop loop,
                 fit::TrainingLoop::create(device_, std::move(task), recipe, callbacks_));
    SHOAL_ASSIGN(const fit::StopReason reason, loop.run());
    if (reason == fit::StopReason::kCancelled) return Status(Code::kCancelled, "interrupted");
    Weights weights;
    for (const auto& [name, tensor] : loop.weights()) weights[name] = tensor.clone();
    return weights;
  }

  Result<Weights> learned_head(const Preforward& preforward) const {
    SHOAL_ASSIGN(const Graph lower, body(batch()));
    SHOAL_ASSIGN(Graph upper, head(lower));
    if (preforward.training.values.shape()[1] != lower[lower.outputs()[0]].type.shape[1]) {
      return Status(Code::kCorrupt, "the cache has features of another length");
    }
    const Stream some = learned_from(preforward.training.labels);
    fit::TrainingData data = as_images(some);
    data.training = as_features(*data_.data.training, preforward.training, some);
    return learn({.network = std::move(upper), .data = std::move(data), .prepare = as_it_is},
                 recipe_);
  }

  Status calibrate(const Preforward& preforward) {
    const Tensor& labels = preforward.held_out.labels;
    const Stream seen = stream(labels);
    SHOAL_ASSIGN(const Graph lower, body(batch()));
    SHOAL_ASSIGN(const Graph upper, head(lower));
    SHOAL_ASSIGN(const Graph learned, train::with_constants(upper, head_));
    const auto features = as_features(*data_.data.held_out, preforward.held_out, seen);
    const Batches batches(*features, as_it_is, {.batch = recipe_.batch});
    SHOAL_ASSIGN(const std::vector<Answer> special, answers_of(device_, learned, batches));
    const std::vector<int64_t> general =
        at_places(preforward.general.data<int64_t>(), seen.examples);
    const exits::Verdicts verdicts = cascade_of(special, seen.targets, other(), general,
                                                at_places(labels.data<int64_t>(), seen.examples));
    result_.threshold = threshold_for(verdicts, options_.max_drop, stage_macs());
    result_.held_out =
        exits::figures_with(verdicts, std::span(&result_.threshold, 1), stage_macs());
    return {};
  }

  std::vector<int64_t> stage_macs() const { return {result_.macs, result_.macs_general}; }

  Status evaluate() {
    SHOAL_ASSIGN(const Tensor labels, labels_of(*data_.test));
    const Stream seen = stream(labels);
    const Relabelled examples(data_.test, seen);
    SHOAL_ASSIGN(const Graph special, special_network(batch(), head_));
    SHOAL_ASSIGN(const std::vector<Answer> answers,
                 answers_of(device_, special, in_order(examples, special)));
    SHOAL_ASSIGN(const std::vector<Answer> general, general_answers(examples));
    std::vector<int64_t> best;
    for (const Answer& answer : general) best.push_back(answer.best);
    const std::vector<int64_t> own = at_places(labels.data<int64_t>(), seen.examples);
    const exits::Verdicts verdicts = cascade_of(answers, seen.targets, other(), best, own);
    result_.cascade = exits::figures_with(verdicts, std::span(&result_.threshold, 1), stage_macs());
    result_.top1 = percent_right(answers, seen.targets);
    result_.top1_general = percent_right(general, own);
    test_ = seen;
    return {};
  }

  Status compare(const Preforward& preforward) {
    SpecialiseControls& controls = result_.controls.emplace();
    if (!options_.cache.empty()) {
      const auto begin = Clock::now();
      SHOAL_ASSIGN(const Preforward kept, read_preforward(options_.cache, key_));
      SHOAL_ASSIGN(const Weights again, learned_head(kept));
      controls.seconds_warm = seconds_since(begin);
      controls.weights_error = largest_difference(head_, again);
    }
    fit::TrainingOptions recipe = recipe_;
    recipe.feature_cache_bytes = 0;
    SHOAL_ASSIGN(Graph special, special_network(batch(), {}));
    std::vector<std::string> names;
    for (const auto& [name, tensor] : head_) names.push_back(name);
    recipe.freeze = fit::all_but(special, names);
    const Stream some = learned_from(preforward.training.labels);
    SHOAL_ASSIGN(const Weights uncached,
                 learn({.network = std::move(special), .data = as_images(some)}, recipe));
    controls.weights_error = std::max(controls.weights_error, largest_difference(head_, uncached));
    return retrain_all(preforward, controls);
  }

  Status retrain_all(const Preforward& preforward, SpecialiseControls& controls) const {
    SHOAL_ASSIGN(const LoadedGraph general, fit::load_for_batch(general_, batch()));
    SHOAL_ASSIGN(const Graph network, train::retargeted(general.graph, outputs(), recipe_.seed));
    const auto begin = Clock::now();
    const Stream all = stream(preforward.training.labels);
    SHOAL_ASSIGN(const Weights weights,
                 learn({.network = network, .data = as_images(all)}, recipe_));
    controls.seconds_full = seconds_since(begin);
    SHOAL_ASSIGN(const Graph learned, train::with_constants(network, weights));
    const Relabelled examples(data_.test, test_);
    SHOAL_ASSIGN(const std::vector<Answer> answers,
                 answers_of(device_, learned, in_order(examples, learned)));
    controls.top1_full = percent_right(answers, test_.targets);
    return {};
  }

  Status write() const {
    std::string classes;
    for (int64_t one : options_.classes)
      classes += (classes.empty() ? "" : ",") + std::to_string(one);
    const auto network = [&](int64_t batch) -> Result<LoadedGraph> {
      SHOAL_ASSIGN(Graph special, special_network(batch, head_));
      std::vector<std::string> names = {special[special.outputs()[0]].name};
      return LoadedGraph{std::move(special), std::move(names)};
    };
    return fit::export_network(
        network, options_.out,
        {{"shoal.classes", classes}, {"shoal.threshold", json_number(result_.threshold)}});
  }

  Device& device_;
  const Model& model_;
  const Model& general_;
  const fit::JudgedData& data_;
  const SpecialiseOptions& options_;
  const fit::TrainingCallbacks& callbacks_;
  fit::TrainingOptions recipe_;
  std::string key_;                   // of the features
  Weights head_;                      // after it learned
  std::unique_ptr<Executable> body_;  // once features were computed
  Stream test_;
  SpecialiseResult result_;
};

}  // namespace

Status check(const SpecialiseOptions& options) {
  const auto& classes = options.classes;
  const std::set<int64_t> different(classes.begin(), classes.end());
  if (classes.empty() || different.size() != classes.size() || *different.begin() < 0) {
    return invalid("classes are numbers from 0 on, each once, and there is one");
  }
  if (!(options.other >= 0 && options.other < 1)) return invalid("other is a share below 1");
  if (classes.size() == 1 && options.other == 0) {
    return invalid("one class alone needs no network; images of others must be among them");
  }
  if (options.per_class < 0) return invalid("per_class is a count; 0: all");
  if (!(options.max_drop >= 0)) return invalid("max_drop is out of range");
  const fit::TrainingOptions& recipe = options.recipe;
  if (recipe.augment != Augment() || recipe.damaged != Damaged::kRefuse) {
    return invalid("features are of images as they are: no augmentation, no damaged examples");
  }
  if (recipe.retarget > 0 || recipe.from_scratch || recipe.patience > 0 ||
      recipe.loss.distill > 0 || !recipe.teacher.empty()) {
    return invalid("a head takes no recipe with retarget, from_scratch, patience or a teacher");
  }
  return fit::check(recipe);
}

Result<SpecialiseResult> specialise(Device& device, const Model& model, const Model* general,
                                    const fit::JudgedData& data, const SpecialiseOptions& options,
                                    const fit::TrainingCallbacks& callbacks) {
  SHOAL_TRY(check(options));
  for (const Model* one : {&model, general}) {
    if (one != nullptr && one->has_random_weights()) {
      return invalid(one->name() + " has random weights: train it first");
    }
  }
  return Run(device, model, general, data, options, callbacks).run();
}

Result<Variant> make_special(const shrink::ShrinkDevices& devices, const Model& widest,
                             const fit::JudgedData& data, std::string name,
                             const SpecialiseOptions& options,
                             const fit::TrainingCallbacks& callbacks) {
  SHOAL_ASSIGN(const SpecialiseResult specialise_result,
               specialise(devices.learns, widest, nullptr, data, options, callbacks));
  Variant variant{.name = std::move(name), .has_file = true};
  variant.special = Special{.classes = options.classes,
                            .threshold = specialise_result.threshold,
                            .falls = std::clamp(1 - specialise_result.cascade.share[0], 0.0, 1.0),
                            .precision = specialise_result.cascade.precision[0]};
  // As others will see it: from the file.
  SHOAL_ASSIGN(const Model file, open_model(options.out.string()));
  SHOAL_ASSIGN(variant.figures, costs_of(devices.runs, shrink::as_given(file)));
  variant.figures.top1 = specialise_result.cascade.top1;
  variant.figures.held_out_top1 = specialise_result.held_out.top1;
  return variant;
}

Status SpecialMaker::prepare() {
  if (device_ == nullptr) {
    SHOAL_ASSIGN(device_, options_.device());
  }
  if (!widest_) {
    SHOAL_ASSIGN(const Catalog catalog, read_catalog(options_.folder));
    SHOAL_ASSIGN(widest_, model_of(options_.folder, catalog.variants.at(0)));
  }
  if (!data_) {
    SHOAL_ASSIGN(data_, fit::open_judged_data(options_.how.recipe));
  }
  return {};
}

Result<Variant> SpecialMaker::make(std::vector<int64_t> classes, const std::filesystem::path& file,
                                   const std::atomic<bool>* cancel) {
  SHOAL_TRY(prepare());
  SpecialiseOptions options = options_.how;
  options.classes = std::move(classes);
  options.out = file;
  fit::TrainingCallbacks callbacks;
  callbacks.cancel = cancel;
  return make_special({*device_, *device_}, *widest_, *data_, "special", options, callbacks);
}

}  // namespace shoal::catalog
