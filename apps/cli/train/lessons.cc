#include "lessons.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "../progress.h"
#include "../table.h"
#include "features.h"
#include "networks.h"
#include "report.h"
#include "shoal/passes/passes.h"
#include "shoal/passes/rewriter.h"
#include "shoal/train/frozen_body.h"
#include "shoal/train/rebuild.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr size_t kAhead = 4;  // batches that wait to be learned from

// The examples that are learned from and those that are not, where nobody has parted them: the same
// for the same seed.
std::pair<std::vector<size_t>, std::vector<size_t>> part(size_t count, double share,
                                                         uint64_t seed) {
  constexpr uint64_t kParting = 0x70617274;
  std::vector<size_t> order = shuffled(count, RandomStream(seed, kParting));
  const auto held = static_cast<ptrdiff_t>(share * static_cast<double>(count));
  return {{order.begin() + held, order.end()}, {order.begin(), order.begin() + held}};
}

// The network up to its scores, without a Softmax after them.
Result<Graph> up_to_scores(const Graph& network) {
  passes::Rewriter rewriter(network);
  for (const Node& node : network.nodes()) SHOAL_TRY(rewriter.copy(node));
  Graph graph = std::move(rewriter.to());
  graph.mark_output(rewriter.map(train::scores_of(network)));
  return passes::optimize(graph);
}

InputInfo input_of(const Graph& network) {
  const Value& value = network[network.inputs()[0]];
  const Shape& shape = value.type.shape;
  return {value.name, value.type.dtype, {shape.begin(), shape.end()}};
}

}  // namespace

Result<std::unique_ptr<Lessons>> Lessons::prepare(const TrainFlags& flags, Device& device) {
  std::unique_ptr<Lessons> lessons(new Lessons(flags, device));
  SHOAL_TRY(lessons->open_data());
  SHOAL_TRY(lessons->open_network());
  if (!flags.teacher.empty()) SHOAL_TRY(lessons->open_teacher().at(flags.teacher));
  if (flags.resume) SHOAL_TRY(lessons->resume());
  return lessons;
}

Status Lessons::open_data() {
  const Damaged damaged = flags_.damaged_examples();
  SHOAL_ASSIGN(training_, open_dataset(flags_.data, flags_.format, Split::kTraining, damaged));
  auto held_out = open_dataset(flags_.data, flags_.format, Split::kHeldOut, damaged);
  if (held_out.ok()) {
    held_out_ = *std::move(held_out);
  } else if (held_out.status().code() == Code::kNotFound) {
    const auto [learned, kept] = part(training_->size(), flags_.hold_out, flags_.seed);
    const auto whole = training_;
    training_ = make_subset(whole, learned);
    held_out_ = make_subset(whole, kept);
  } else {
    return held_out.status();
  }
  if (flags_.limit > 0 && flags_.limit < training_->size()) {
    std::vector<size_t> first = part(training_->size(), 0, flags_.seed).first;
    first.resize(flags_.limit);
    training_ = make_subset(training_, first);
  }
  if (training_->size() >= flags_.batch) return {};
  return invalid("there are " + std::to_string(training_->size()) +
                 " examples to learn from, which fill no batch of " + std::to_string(flags_.batch));
}

Batches::Prepare Lessons::preparation(const Preprocess& how) const {
  return [how, input = input_of(network_)](const Tensor& image) -> Result<Tensor> {
    SHOAL_ASSIGN(Tensor x, prepare_image(image, input, how));
    if (input.dims.size() == 2) x = x.reshaped({1, x.count()});  // a flat vector per image
    return x;
  };
}

Status Lessons::open_network() {
  SHOAL_ASSIGN(const Preprocess how, flags_.preprocess.resolve());
  SHOAL_ASSIGN(LoadedGraph loaded, network_to_train(flags_, static_cast<int64_t>(flags_.batch)));
  network_ = std::move(loaded.graph);
  const Shape& scores = network_[train::scores_of(network_)].type.shape;
  classes_ = scores[1];
  batches_.emplace(*training_, preparation(how), flags_.training_batches(classes_));
  exam_batches_.emplace(*held_out_, preparation(how), exam_options());
  SHOAL_TRY(use_features(how));
  SHOAL_ASSIGN(trainer_, train::Trainer::create(device_, network_, flags_.trainer_options()));
  schedule_ = flags_.schedule_of(batches_->per_epoch());
  return {};
}

BatchOptions Lessons::exam_options() const {
  return {.batch = flags_.batch, .classes = classes_, .damaged = flags_.damaged_examples()};
}

// Only where images are the same in every epoch, all of them can be read, and nobody else looks at
// them.
Status Lessons::use_features(const Preprocess& how) {
  const bool same_each_epoch = flags_.augment == Augment() && flags_.damaged != "skip";
  if (flags_.feature_cache_mb == 0 || !same_each_epoch || !flags_.teacher.empty()) return {};
  SHOAL_ASSIGN(auto parted, train::part_frozen_body(network_, flags_.trainer_options().step));
  if (!parted) return {};
  const TensorType& type = parted->body[parted->body.outputs()[0]].type;
  const size_t bytes = type.bytes() / flags_.batch * (training_->size() + held_out_->size());
  if (bytes > flags_.feature_cache_mb * 1'000'000) return {};
  SHOAL_ASSIGN(const Graph body, passes::optimize(parted->body));
  SHOAL_ASSIGN(const auto executable, device_.compile(body));
  const Batches in_order(*training_, preparation(how), exam_options());
  SHOAL_ASSIGN(training_features_, features_of(*executable, *training_, in_order));
  SHOAL_ASSIGN(held_out_features_, features_of(*executable, *held_out_, *exam_batches_));
  const auto as_it_is = [](const Tensor& features) -> Result<Tensor> { return features; };
  batches_.emplace(*training_features_, as_it_is, flags_.training_batches(classes_));
  exam_batches_.emplace(*held_out_features_, as_it_is, exam_options());
  network_ = std::move(parted->head);
  std::fprintf(stderr, "the frozen part has run once: %s of features are kept\n",
               in_bytes(static_cast<long long>(bytes)).c_str());
  return {};
}

Status Lessons::open_teacher() {
  SHOAL_ASSIGN(const LoadedGraph loaded,
               load_for_batch(flags_.teacher, static_cast<int64_t>(flags_.batch), flags_.seed));
  SHOAL_ASSIGN(const Graph graph, up_to_scores(loaded.graph));
  const TensorType scores{DType::kF32, {static_cast<int64_t>(flags_.batch), classes_}};
  if (graph[graph.outputs()[0]].type != scores ||
      graph[graph.inputs()[0]].type != network_[network_.inputs()[0]].type) {
    return invalid("does not have the inputs and classes of " + flags_.model.model);
  }
  SHOAL_ASSIGN(teacher_, device_.compile(graph));
  return {};
}

Status Lessons::resume() {
  const std::filesystem::path path = flags_.checkpoint_path();
  if (!std::filesystem::exists(path)) {
    std::fprintf(stderr, "no checkpoint %s yet: begins anew\n", path.c_str());
    return {};
  }
  SHOAL_ASSIGN(Checkpoint checkpoint, read_checkpoint(path, flags_.settings()));
  SHOAL_TRY(trainer_->restore(checkpoint.state).at(path.string()));
  course_ = std::move(checkpoint.course);
  best_ = std::move(checkpoint.best);
  if (course_.step < batches_->per_epoch() && course_.results.size() == course_.epoch) return {};
  return invalid(path.string() + ": it was made with other data");
}

Result<std::vector<Tensor>> Lessons::targets_of(const Batch& batch) {
  std::vector<Tensor> targets{batch.labels};
  if (teacher_ != nullptr) {
    std::vector<Tensor> answers(1);
    SHOAL_TRY(teacher_->run(std::span(&batch.images, 1), answers, nullptr));
    targets.push_back(std::move(answers[0]));
  }
  return targets;
}

Status Lessons::learn(const Batch& batch) {
  SHOAL_ASSIGN(const std::vector<Tensor> targets, targets_of(batch));
  const auto done = static_cast<int64_t>(course_.epoch * batches_->per_epoch() + course_.step);
  SHOAL_ASSIGN(const float loss,
               trainer_->step(batch.images, targets, train::factor_at(schedule_, done)));
  course_.loss_sum += double{loss};
  course_.right += count_right(trainer_->scores(), batch.labels, flags_.batch);
  ++course_.step;
  learned_ += flags_.batch;
  return {};
}

std::string Lessons::describe_progress() const {
  const auto steps = static_cast<double>(course_.step), batch = static_cast<double>(flags_.batch);
  const auto total = static_cast<double>(schedule_.total);
  const double done =
      static_cast<double>(course_.epoch) * static_cast<double>(batches_->per_epoch()) + steps;
  return "loss " + fixed(course_.loss_sum / steps, 4) + ", top-1 " +
         fixed(100 * static_cast<double>(course_.right) / (steps * batch), 2) + " %, " +
         fixed(images_per_s(), 0) + " images/s, " +
         fixed((total - done) * batch / images_per_s(), 0) + " s for all epochs";
}

Status Lessons::learn_epoch() {
  const size_t per_epoch = batches_->per_epoch();
  const std::string epoch = "epoch " + std::to_string(course_.epoch + 1);
  Progress progress(epoch + "/" + std::to_string(flags_.epochs), per_epoch);
  const double before = course_.seconds, learned_before = learning_;
  const auto begin = Clock::now();
  while (course_.step < per_epoch) {
    SHOAL_ASSIGN(const Batch batch, prefetch_->next());
    SHOAL_TRY(learn(batch).at(epoch + ", step " + std::to_string(course_.step + 1)));
    course_.seconds = before + seconds_since(begin);
    learning_ = learned_before + seconds_since(begin);
    progress.at(course_.step, describe_progress());
    const bool is_due = flags_.checkpoint_every > 0 &&
                        course_.step % static_cast<size_t>(flags_.checkpoint_every) == 0;
    if (is_due && course_.step < per_epoch) SHOAL_TRY(save());
  }
  return {};
}

Status Lessons::examine_now() {
  SHOAL_ASSIGN(const Graph now, trainer_->network());
  SHOAL_ASSIGN(exam_, examine(device_, now, *exam_batches_));
  return {};
}

Status Lessons::close_epoch() {
  const auto begin = Clock::now();
  SHOAL_TRY(examine_now());
  course_.seconds += seconds_since(begin);
  const auto steps = static_cast<double>(batches_->per_epoch());
  course_.results.push_back({.loss = course_.loss_sum / steps,
                             .top1 = 100 * static_cast<double>(course_.right) /
                                     (steps * static_cast<double>(flags_.batch)),
                             .held_out_loss = exam_.loss,
                             .held_out_top1 = exam_.top1(),
                             .seconds = course_.seconds});
  const EpochResult& result = course_.results.back();
  std::fprintf(stderr, "epoch %zu: loss %.4f, top-1 %.2f %%; held out: loss %.4f, top-1 %.2f %%\n",
               course_.results.size(), result.loss, result.top1, result.held_out_loss,
               result.held_out_top1);
  course_ = {.epoch = course_.epoch + 1,
             .step = 0,
             .loss_sum = 0,
             .right = 0,
             .seconds = course_.seconds,
             .results = std::move(course_.results)};
  if (flags_.patience > 0 && course_.best() + 1 == course_.results.size()) {
    best_.clear();
    for (const auto& [name, tensor] : trainer_->learned()) best_[name] = tensor.clone();
  }
  SHOAL_TRY(save());
  return write_report();
}

Status Lessons::save() {
  return write_checkpoint(flags_.checkpoint_path(), {.course = course_,
                                                     .settings = flags_.settings(),
                                                     .state = trainer_->state(),
                                                     .best = best_});
}

Status Lessons::write_report() const {
  if (flags_.report.empty()) return {};
  return cli::write_report(flags_.report, {.title = flags_.model.model + " on " + flags_.data,
                                           .course = course_,
                                           .exam = exam_,
                                           .held_out = *held_out_});
}

bool Lessons::out_of_patience() const {
  return flags_.patience > 0 && !course_.results.empty() &&
         course_.results.size() - course_.best() > static_cast<size_t>(flags_.patience);
}

void Lessons::tell_damage() const {
  std::vector<std::string> damage = training_->damage();
  for (const auto& more : {held_out_->damage(), batches_->skipped(), exam_batches_->skipped()}) {
    damage.insert(damage.end(), more.begin(), more.end());
  }
  for (const std::string& line : damage) std::fprintf(stderr, "skipped: %s\n", line.c_str());
}

Status Lessons::run() {
  prefetch_.emplace(*batches_, course_.epoch, course_.step, flags_.loaders, kAhead);
  while (course_.epoch < static_cast<uint64_t>(flags_.epochs) && !out_of_patience()) {
    SHOAL_TRY(learn_epoch());
    SHOAL_TRY(close_epoch());
  }
  tell_damage();
  return {};
}

Status Lessons::finish() {
  if (!best_.empty()) SHOAL_TRY(trainer_->restore_learned(best_));
  // Weights of an earlier epoch, or of an earlier process.
  if (!best_.empty() || exam_.images == 0) SHOAL_TRY(examine_now());
  SHOAL_TRY(write_report());
  return export_learned(flags_, trainer_->learned());
}

double Lessons::images_per_s() const {
  return learning_ > 0 ? static_cast<double>(learned_) / learning_ : 0;
}

}  // namespace shoal::cli
