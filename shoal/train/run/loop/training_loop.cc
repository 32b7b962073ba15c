// Training, epoch by epoch. The order of events makes training resumable at every step:
//
//   step:   progress is counted after the weights have changed
//   epoch:  evaluate, close the epoch, remember the best weights, save, call on_epoch
//
// A checkpoint thus never holds weights and progress of different steps. Images are read and
// augmented by other threads (train/data/batches.h); all else runs on the thread that calls run().
#include "shoal/train/run/loop/training_loop.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "shoal/base/timing/seconds_since.h"
#include "shoal/engine/run/scores.h"
#include "shoal/model/passes/passes.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/loop/checkpoint.h"
#include "shoal/train/run/loop/private_training.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/feature_cache.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/graph/features.h"

namespace shoal::fit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAhead = 4;  // batches that wait for their step

const TensorType& input_type(const Graph& graph) { return graph[graph.inputs()[0]].type; }

// Reasons to fail that cost nothing to find come before anything is compiled.
Status check_task(const TrainingTask& task, const TrainingOptions& options) {
  const size_t batch = options.batch;
  const Graph& network = task.network;
  const size_t outputs = std::max<size_t>(options.output_weights.size(), 1);
  if (network.inputs().size() != 1 || network.outputs().size() != outputs) {
    return invalid("training needs a network of one input and one output");
  }
  const TensorType& scores = network[train::scores_of(network)].type;
  const size_t rows = network_batch(options);
  if (scores.shape.rank() != 2 || scores.shape[0] != static_cast<int64_t>(rows)) {
    return invalid("the output is " + to_string(scores) + ", should be scores of " +
                   std::to_string(rows) + " images");
  }
  if (task.data.training->size() < batch) {
    return invalid("there are " + std::to_string(task.data.training->size()) +
                   " examples to learn from, which fill no batch of " + std::to_string(batch));
  }
  // Without them no epoch is better than the first, whose weights would be the result.
  if (options.patience > 0 && task.data.held_out->size() == 0) {
    return invalid("patience needs examples that are held out, and there are none");
  }
  if (task.teacher.has_value() != (options.loss.distill > 0)) {
    return invalid("a teacher and its share of the loss must be given together");
  }
  return {};
}

// A device with memory of its own keeps weights and what the optimiser remembers; only batches
// travel. Penalties are added on the host.
bool stays_on_device(const Device& device, const train::TrainerOptions& options) {
  return !device.info().unified_memory && options.regularizers.empty() && !options.unit_penalty;
}

}  // namespace

// Every step has a full batch, so that sums over steps and the batch size give all means.
void TrainingProgress::add_step(double loss, size_t correct_answers) {
  loss_sum += loss;
  correct += correct_answers;
  ++step;
}

double TrainingProgress::top1(size_t batch) const {
  return 100 * static_cast<double>(correct) /
         (static_cast<double>(step) * static_cast<double>(batch));
}

void TrainingProgress::end_epoch(size_t batch, double held_out_loss, double held_out_top1) {
  SHOAL_CHECK(step > 0);
  results.push_back({.loss = mean_loss(),
                     .top1 = top1(batch),
                     .held_out_loss = held_out_loss,
                     .held_out_top1 = held_out_top1,
                     .seconds = seconds});
  ++epoch;
  step = 0;
  loss_sum = 0;
  correct = 0;
}

// max_element returns the first of equals: an epoch has to be better to count as better.
size_t TrainingProgress::best_epoch() const {
  SHOAL_CHECK(!results.empty());
  const auto best = std::ranges::max_element(results, {}, &EpochResult::held_out_top1);
  return static_cast<size_t>(best - results.begin());
}

// The difference counts the best epoch, too, hence > and not >=.
bool TrainingProgress::out_of_patience(int64_t patience) const {
  return patience > 0 && !results.empty() &&
         results.size() - best_epoch() > static_cast<size_t>(patience);
}

// The state of a loop. Batches refer to data sets and to private_, and the prefetch refers to
// batches, so that members are declared in that order and destroyed in reverse.
class TrainingLoop::State {
 public:
  State(Device& device, TrainingTask task, TrainingOptions options, TrainingCallbacks callbacks)
      : device_(device),
        options_(std::move(options)),
        callbacks_(std::move(callbacks)),
        network_(std::move(task.network)),
        penalty_(std::move(task.penalty)),
        data_(std::move(task.data)),
        given_prepare_(std::move(task.prepare)) {}

  Status prepare(const std::optional<Graph>& teacher);
  Result<StopReason> run();
  Status finish();

  const TrainingProgress& progress() const { return progress_; }
  const Evaluation& evaluation() const { return evaluation_; }
  double images_per_second() const;
  bool uses_feature_cache() const { return training_features_ != nullptr; }
  std::vector<std::string> skipped() const;
  std::map<std::string, Tensor> weights() const { return trainer_->learned(); }
  std::optional<privacy::PrivacySpent> privacy() const;

 private:
  BatchOptions batch_options() const;
  Status use_features(Batches::Prepare prepare);
  Status compile_teacher(const Graph& teacher);
  Status resume();

  Status train_epoch();
  Status train_step(const Batch& batch);
  Result<std::vector<Tensor>> targets_of(const Batch& batch);
  Status end_epoch();
  Status evaluate_now();
  Status save();
  StepReport step_report() const;
  uint64_t steps_done() const { return progress_.epoch * batches_->per_epoch() + progress_.step; }
  bool is_cancelled() const;
  void note(const std::string& line) const;

  Device& device_;
  const TrainingOptions options_;
  const TrainingCallbacks callbacks_;
  Graph network_;  // what is trained, with the weights it began with: with features, the head
  const std::optional<train::UnitPenalty> penalty_;
  const TrainingData data_;
  const Batches::Prepare given_prepare_;  // null: images as the network takes them
  int64_t classes_ = 0;
  std::shared_ptr<const Dataset> training_features_, held_out_features_;  // null: no cache
  std::optional<PrivateTraining> private_;  // if options.privacy is on
  std::optional<Batches> batches_, evaluation_batches_;
  std::optional<Prefetch> prefetch_;  // from one epoch into the next
  std::optional<train::Trainer> trainer_;
  std::unique_ptr<Executable> teacher_;
  std::vector<TensorType> teacher_features_;  // that it gives after its scores
  train::Schedule schedule_;
  TrainingProgress progress_;
  Evaluation evaluation_;
  std::map<std::string, Tensor> best_;  // weights, where patience asks for them
  size_t images_ = 0;                   // seen in training by this process
  double training_seconds_ = 0;         // that it took
};

Status TrainingLoop::State::prepare(const std::optional<Graph>& teacher) {
  // The classes are those of the whole network: use_features() replaces it by its head.
  classes_ = classes_of(network_);
  const Batches::Prepare prepare_image =
      given_prepare_ ? given_prepare_ : images_for(network_, options_.preprocess);
  if (options_.privacy.is_on()) {
    private_.emplace(options_.privacy, options_.batch, data_.training->size());
  }
  batches_.emplace(*data_.training, prepare_image, batch_options());
  evaluation_batches_.emplace(*data_.held_out, prepare_image,
                              evaluation_batches(options_, classes_));
  if (teacher) SHOAL_TRY(compile_teacher(*teacher));
  SHOAL_TRY(use_features(prepare_image));
  train::TrainerOptions options = trainer_options(options_);
  options.unit_penalty = penalty_;
  options.step.teacher_features = teacher_features_;
  options.update_on_device = stays_on_device(device_, options) && !private_;
  SHOAL_ASSIGN(trainer_, train::Trainer::create(device_, network_, options));
  if (private_) SHOAL_TRY(private_->begin(*trainer_));
  schedule_ = schedule_of(options_, batches_->per_epoch());
  return options_.resume ? resume() : Status();
}

// The cache is of use only if images are the same in every epoch, all can be read, no teacher reads
// them, and each has a row of features. A data set too large for it is no error.
Status TrainingLoop::State::use_features(Batches::Prepare prepare) {
  const bool same_each_epoch =
      options_.augment == Augment() && options_.damaged == Damaged::kRefuse;
  if (options_.feature_cache_bytes == 0 || !same_each_epoch || teacher_ != nullptr) return {};
  SHOAL_ASSIGN(auto parted, train::part_frozen_body(network_, trainer_options(options_).step));
  if (!parted) return {};
  // A Reshape may have left the batch somewhere else than in the first axis.
  const Shape& shape = parted->body[parted->body.outputs()[0]].type.shape;
  if (shape.rank() == 0 || shape[0] != static_cast<int64_t>(network_batch(options_))) return {};
  const size_t bytes = feature_bytes(parted->body, data_.training->size() + data_.held_out->size());
  if (bytes > options_.feature_cache_bytes) return {};
  SHOAL_ASSIGN(const Graph body, passes::optimize(parted->body));
  SHOAL_ASSIGN(const auto executable, device_.compile(body));
  const Batches in_order(*data_.training, std::move(prepare),
                         evaluation_batches(options_, classes_));
  SHOAL_ASSIGN(Features features, compute_features(*executable, in_order, data_.training->size()));
  training_features_ = features_as_data(*data_.training, std::move(features));
  SHOAL_ASSIGN(features,
               compute_features(*executable, *evaluation_batches_, data_.held_out->size()));
  held_out_features_ = features_as_data(*data_.held_out, std::move(features));
  const auto as_it_is = [](const Tensor& row) -> Result<Tensor> { return row; };
  batches_.emplace(*training_features_, as_it_is, batch_options());
  evaluation_batches_.emplace(*held_out_features_, as_it_is,
                              evaluation_batches(options_, classes_));
  network_ = std::move(parted->head);
  char line[96];
  std::snprintf(line, sizeof line, "the frozen part has run once: %.1f MB of features are kept",
                static_cast<double>(bytes) / 1e6);
  note(line);
  return {};
}

// With privacy, the secret key chooses the examples: knowing the choice would reveal more than the
// accountant says.
BatchOptions TrainingLoop::State::batch_options() const {
  BatchOptions options = training_batches(options_, classes_);
  if (private_) options.choose = [&](uint64_t step) { return private_->choose(step); };
  return options;
}

std::optional<privacy::PrivacySpent> TrainingLoop::State::privacy() const {
  if (!private_) return std::nullopt;
  return private_->spent(steps_done());
}

Status TrainingLoop::State::compile_teacher(const Graph& teacher) {
  const std::span<const ValueId> features = teacher.outputs().subspan(1);
  if (features.empty() != (options_.distill_features == 0)) {
    return invalid("a teacher gives features besides scores where these count, and only there");
  }
  teacher_features_ = teacher.types(features);
  SHOAL_ASSIGN(Graph graph, up_to_scores(teacher, features));
  const auto rows = static_cast<int64_t>(network_batch(options_));
  const TensorType scores{DType::kF32, {rows, classes_}};
  if (graph[graph.outputs()[0]].type != scores || input_type(graph) != input_type(network_)) {
    return invalid("the teacher does not have the inputs and classes of the network");
  }
  SHOAL_ASSIGN(graph, passes::optimize(graph));  // norms are folded, activations fused
  SHOAL_ASSIGN(teacher_, device_.compile(graph));
  return {};
}

Status TrainingLoop::State::resume() {
  const std::filesystem::path& path = options_.checkpoint;
  std::error_code unknown;  // reading the file says more
  if (!std::filesystem::exists(path, unknown) && !unknown) {
    note("no checkpoint " + path.string() + " yet: begins anew");
    return {};
  }
  SHOAL_ASSIGN(Checkpoint checkpoint, read_checkpoint(path, settings_of(options_)));
  SHOAL_TRY(trainer_->restore(checkpoint.state).at(path.string()));
  progress_ = std::move(checkpoint.progress);
  // The settings agree. A position that the data does not have means that the data differs.
  best_ = std::move(checkpoint.best);
  if (progress_.step < batches_->per_epoch() && progress_.results.size() == progress_.epoch) {
    return {};
  }
  return invalid(path.string() + ": it was made with other data");
}

Result<StopReason> TrainingLoop::State::run() {
  prefetch_.emplace(*batches_, progress_.epoch, progress_.step, options_.loaders, kAhead);
  while (progress_.epoch < static_cast<uint64_t>(options_.epochs)) {
    if (progress_.out_of_patience(options_.patience)) return StopReason::kPatience;
    SHOAL_TRY(train_epoch());
    // The last step of an epoch may coincide with the request to stop. The epoch is then closed
    // first, so that its evaluation is not lost.
    if (is_cancelled() && progress_.step < batches_->per_epoch()) {
      SHOAL_TRY(save());
      return StopReason::kCancelled;
    }
    SHOAL_TRY(end_epoch());
  }
  return StopReason::kDone;
}

Status TrainingLoop::State::train_epoch() {
  const size_t per_epoch = batches_->per_epoch();
  const std::string epoch = "epoch " + std::to_string(progress_.epoch + 1);
  const double seconds_before = progress_.seconds, training_before = training_seconds_;
  const auto begin = Clock::now();
  while (progress_.step < per_epoch && !is_cancelled()) {
    SHOAL_ASSIGN(const Batch batch, prefetch_->next());
    SHOAL_TRY(train_step(batch).at(epoch + ", step " + std::to_string(progress_.step + 1)));
    progress_.seconds = seconds_before + seconds_since(begin);
    training_seconds_ = training_before + seconds_since(begin);
    if (callbacks_.on_step) callbacks_.on_step(step_report());
    const bool is_due = options_.checkpoint_every > 0 &&
                        progress_.step % static_cast<size_t>(options_.checkpoint_every) == 0;
    // The end of the epoch saves by itself.
    if (is_due && progress_.step < per_epoch) SHOAL_TRY(save());
  }
  return {};
}

Status TrainingLoop::State::train_step(const Batch& batch) {
  // The step since the beginning of training, not of this process: the schedule goes on after a
  // resume.
  const auto done = static_cast<int64_t>(steps_done());
  if (private_) {
    SHOAL_ASSIGN(const PrivateTraining::Outcome outcome,
                 private_->step(*trainer_, batch, static_cast<uint64_t>(done),
                                train::factor_at(schedule_, done),
                                [this](const Batch& one) { return targets_of(one); }));
    progress_.add_step(outcome.loss, outcome.correct);
    images_ += batch.examples.size();
    return {};
  }
  SHOAL_ASSIGN(const std::vector<Tensor> targets, targets_of(batch));
  SHOAL_ASSIGN(const float loss,
               trainer_->step(batch.images, targets, train::factor_at(schedule_, done)));
  progress_.add_step(double{loss}, count_correct(trainer_->scores(), batch.labels, options_.batch));
  images_ += options_.batch;
  return {};
}

Result<std::vector<Tensor>> TrainingLoop::State::targets_of(const Batch& batch) {
  std::vector<Tensor> targets{batch.labels};
  if (teacher_ != nullptr) {
    std::vector<Tensor> answers(1 + teacher_features_.size());
    SHOAL_TRY(teacher_->run(std::span(&batch.images, 1), answers, {}));
    targets.insert(targets.end(), answers.begin(), answers.end());
  }
  return targets;
}

Status TrainingLoop::State::end_epoch() {
  const auto begin = Clock::now();
  SHOAL_TRY(evaluate_now());
  progress_.seconds += seconds_since(begin);
  progress_.end_epoch(options_.batch, evaluation_.loss(), evaluation_.top1());
  if (options_.patience > 0 && progress_.improved()) {
    // Clones, because later steps change the weights in place.
    best_.clear();
    for (const auto& [name, tensor] : trainer_->learned()) best_[name] = tensor.clone();
  }
  SHOAL_TRY(save());
  if (!callbacks_.on_epoch) return {};
  return callbacks_.on_epoch({progress_, evaluation_, *data_.held_out});
}

Status TrainingLoop::State::evaluate_now() {
  SHOAL_TRY(trainer_->fetch());
  SHOAL_ASSIGN(const Graph now, trainer_->network());
  SHOAL_ASSIGN(evaluation_, evaluate(device_, now, *evaluation_batches_));
  return {};
}

Status TrainingLoop::State::finish() {
  if (!best_.empty()) SHOAL_TRY(trainer_->restore_learned(best_));
  // The last evaluation was of another epoch's weights, or in another process.
  if (!best_.empty() || evaluation_.images() == 0) SHOAL_TRY(evaluate_now());
  return trainer_->fetch();
}

Status TrainingLoop::State::save() {
  if (options_.checkpoint.empty()) return {};
  SHOAL_TRY(trainer_->fetch());
  return write_checkpoint(options_.checkpoint, {.progress = progress_,
                                                .settings = settings_of(options_),
                                                .state = trainer_->state(),
                                                .best = best_});
}

StepReport TrainingLoop::State::step_report() const {
  const auto total = static_cast<double>(schedule_.total);
  const auto done = static_cast<double>(steps_done());
  const double left = (total - done) * static_cast<double>(options_.batch);
  return {.progress = progress_,
          .steps_per_epoch = batches_->per_epoch(),
          .epochs = options_.epochs,
          .loss = progress_.mean_loss(),
          .top1 = progress_.top1(options_.batch),
          .images_per_second = images_per_second(),
          .seconds_left = left / images_per_second()};
}

double TrainingLoop::State::images_per_second() const {
  return training_seconds_ > 0 ? static_cast<double>(images_) / training_seconds_ : 0;
}

std::vector<std::string> TrainingLoop::State::skipped() const {
  std::vector<std::string> all = data_.training->damage();
  for (const auto& more :
       {data_.held_out->damage(), batches_->skipped(), evaluation_batches_->skipped()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

bool TrainingLoop::State::is_cancelled() const {
  return callbacks_.cancel != nullptr && callbacks_.cancel->load();
}

void TrainingLoop::State::note(const std::string& line) const {
  if (callbacks_.on_note) callbacks_.on_note(line);
}

Result<TrainingLoop> TrainingLoop::create(Device& device, TrainingTask task,
                                          TrainingOptions options, TrainingCallbacks callbacks) {
  SHOAL_TRY(check(options));
  SHOAL_TRY(check_task(task, options));
  const std::optional<Graph> teacher = std::move(task.teacher);
  auto state =
      std::make_unique<State>(device, std::move(task), std::move(options), std::move(callbacks));
  SHOAL_TRY(state->prepare(teacher));
  return TrainingLoop(std::move(state));
}

TrainingLoop::TrainingLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrainingLoop::TrainingLoop(TrainingLoop&&) noexcept = default;
TrainingLoop& TrainingLoop::operator=(TrainingLoop&&) noexcept = default;
TrainingLoop::~TrainingLoop() = default;

Result<StopReason> TrainingLoop::run() { return state_->run(); }
Status TrainingLoop::finish() { return state_->finish(); }
const TrainingProgress& TrainingLoop::progress() const { return state_->progress(); }
const Evaluation& TrainingLoop::evaluation() const { return state_->evaluation(); }
double TrainingLoop::images_per_second() const { return state_->images_per_second(); }
bool TrainingLoop::uses_feature_cache() const { return state_->uses_feature_cache(); }
std::vector<std::string> TrainingLoop::skipped() const { return state_->skipped(); }
std::map<std::string, Tensor> TrainingLoop::weights() const { return state_->weights(); }
std::optional<privacy::PrivacySpent> TrainingLoop::privacy() const { return state_->privacy(); }

}  // namespace shoal::fit
