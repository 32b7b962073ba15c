// A stage is compiled for a batch by the first request that needs it, under a lock that no running
// stage holds.
#include "shoal/shrink/exits/inference/runner.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "shoal/engine/run/scores.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/exits/network/stages.h"
#include "shoal/train/data/batches.h"

namespace shoal::exits {
namespace {

Tensor rows_of(const Tensor& batch, std::span<const size_t> rows) {
  TensorType type = batch.type();
  const size_t bytes = batch.bytes().size() / static_cast<size_t>(type.shape[0]);
  type.shape[0] = static_cast<int64_t>(rows.size());
  Tensor taken = Tensor::uninitialized(type);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = batch.bytes().subspan(rows[i] * bytes, bytes);
    std::ranges::copy(row, taken.bytes().begin() + static_cast<ptrdiff_t>(i * bytes));
  }
  return taken;
}

void put_rows(const Tensor& rows, size_t first, Tensor& batch) {
  const size_t bytes = batch.bytes().size() / static_cast<size_t>(batch.shape()[0]);
  std::ranges::copy(rows.bytes(), batch.bytes().begin() + static_cast<ptrdiff_t>(first * bytes));
}

void keep_rows(Progress& progress, std::span<const size_t> rows) {
  for (auto& [name, tensor] : progress.live) tensor = rows_of(tensor, rows);
  progress.images = rows.size();
}

Answer answer_of(std::span<const float> scores, bool probabilities, size_t exit) {
  Answer answer{.exit = exit, .best = fit::best_class(scores), .scores = {}};
  const auto best = static_cast<size_t>(answer.best);
  answer.probability = probabilities ? double{scores[best]} : fit::softmax(scores)[best];
  return answer;
}

constexpr size_t kUsualBatch = 64;
constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

}  // namespace

class Runner::State {
 public:
  State(Device& device, MultiExitForBatch network)
      : device_(device), network_(std::move(network)) {}

  Status prepare(bool batches) {
    SHOAL_ASSIGN(const MultiExit multi_exit, network_(1));
    exits_ = multi_exit.exits;
    const ValueId input = multi_exit.graph.inputs()[0];
    input_ = multi_exit.graph[input].name;
    input_type_ = multi_exit.graph[input].type;
    SHOAL_ASSIGN(const std::vector<Stage> stages, stages_of(multi_exit));
    for (const Stage& stage : stages) macs_.push_back(stage.macs);
    if (batches) SHOAL_TRY(require_batches(stages));
    last_reader_.clear();
    for (size_t s = 0; s < stages.size(); ++s) {
      for (const std::string& name : stages[s].reads) last_reader_[name] = s;
    }
    return {};
  }

  Result<Tensor> advance(Progress& progress) {
    SHOAL_CHECK(progress.next < macs_.size());
    const size_t n = progress.next;
    std::vector<std::string> gives;
    std::vector<Tensor> given;
    // 13 images are 8, 4 and 1. A stage that is compiled for every size would take the memory of
    // its weights as often.
    for (size_t first = 0; first < progress.images;) {
      const size_t rows = std::bit_floor(progress.images - first);
      SHOAL_ASSIGN(const Compiled* compiled, compiled_for(n, rows));
      gives = compiled->gives;
      SHOAL_TRY(run_rows(*compiled, progress, first, rows, given));
      first += rows;
    }
    Tensor scores = given[0];
    for (size_t i = 0; i < gives.size(); ++i) progress.live[gives[i]] = std::move(given[i]);
    ++progress.next;
    std::erase_if(progress.live, [&](const auto& value) {
      const auto reader = last_reader_.find(value.first);
      return reader == last_reader_.end() || reader->second < progress.next;
    });
    return scores;
  }

  std::vector<Exit> exits_;
  std::string input_;
  TensorType input_type_;
  std::vector<int64_t> macs_;

 private:
  struct Compiled {
    std::vector<std::string> reads, gives;
    std::unique_ptr<Executable> executable;
  };

  static Status other_stages() {
    return Status(Code::kUnsupported, "the network depends on the size of its batches");
  }

  // Rows of a batch are taken out of every value that goes from stage to stage: its first axis must
  // be the batch.
  Status require_batches(const std::vector<Stage>& stages) const {
    SHOAL_ASSIGN(const MultiExit two, network_(2));
    SHOAL_ASSIGN(const std::vector<Stage> doubled, stages_of(two));
    if (doubled.size() != stages.size()) return other_stages();
    for (size_t s = 0; s < stages.size(); ++s) SHOAL_TRY(require_batch(stages[s], doubled[s]));
    return {};
  }

  static Status require_batch(const Stage& one, const Stage& two) {
    if (one.reads != two.reads || one.gives != two.gives) return other_stages();
    const auto follows = [](const Graph& graph, ValueId id, int64_t batch) {
      const Shape& shape = graph[id].type.shape;
      return shape.rank() > 0 && shape[0] == batch;
    };
    for (size_t i = 0; i < one.gives.size(); ++i) {
      if (!follows(one.graph, one.graph.outputs()[i], 1) ||
          !follows(two.graph, two.graph.outputs()[i], 2)) {
        return other_stages();
      }
    }
    return {};
  }

  Result<const Compiled*> compiled_for(size_t stage, size_t batch) {
    const std::lock_guard lock(mutex_);
    const auto position = compiled_.find({stage, batch});
    if (position != compiled_.end()) return position->second.get();
    SHOAL_ASSIGN(const MultiExit network, network_(static_cast<int64_t>(batch)));
    SHOAL_ASSIGN(std::vector<Stage> stages, stages_of(network));
    auto compiled = std::make_unique<Compiled>();
    SHOAL_ASSIGN(const Graph graph, passes::optimize(stages[stage].graph));
    SHOAL_ASSIGN(compiled->executable, device_.compile(graph));
    compiled->reads = std::move(stages[stage].reads);
    compiled->gives = std::move(stages[stage].gives);
    return (compiled_[{stage, batch}] = std::move(compiled)).get();
  }

  // Runs a stage on some of the images. `given` has room for all of them, and is made by the first.
  static Status run_rows(const Compiled& compiled, const Progress& progress, size_t first,
                         size_t rows, std::vector<Tensor>& given) {
    const bool all = rows == progress.images;
    std::vector<size_t> indices(rows);
    std::iota(indices.begin(), indices.end(), first);
    std::vector<Tensor> inputs, outputs(compiled.gives.size());
    for (const std::string& name : compiled.reads) {
      const Tensor& value = progress.live.at(name);
      inputs.push_back(all ? value : rows_of(value, indices));
    }
    SHOAL_TRY(compiled.executable->run(inputs, outputs, {}));
    if (all) {
      given = std::move(outputs);
      return {};
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (first == 0) {
        TensorType type = outputs[i].type();
        type.shape[0] = static_cast<int64_t>(progress.images);
        given.push_back(Tensor::uninitialized(type));
      }
      put_rows(outputs[i], first, given[i]);
    }
    return {};
  }

  Device& device_;
  const MultiExitForBatch network_;
  std::map<std::string, size_t> last_reader_;  // the last stage that reads a value
  std::mutex mutex_;
  std::map<std::pair<size_t, size_t>, std::unique_ptr<Compiled>> compiled_;  // by stage and batch
};

Result<Runner> Runner::create(Device& device, MultiExitForBatch network) {
  auto state = std::make_unique<State>(device, std::move(network));
  SHOAL_TRY(state->prepare(true));
  return Runner(std::move(state));
}

Result<Runner> Runner::create(Device& device, MultiExit network) {
  const auto one = [network = std::move(network)](int64_t batch) -> Result<MultiExit> {
    if (batch != 1) return invalid("the network takes one image at a time");
    return network;
  };
  auto state = std::make_unique<State>(device, one);
  SHOAL_TRY(state->prepare(false));
  return Runner(std::move(state));
}

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

const std::vector<Exit>& Runner::exits() const { return state_->exits_; }
const std::string& Runner::input() const { return state_->input_; }
const TensorType& Runner::input_type() const { return state_->input_type_; }
const std::vector<int64_t>& Runner::stage_macs() const { return state_->macs_; }

Result<Progress> Runner::start(const Tensor& images) const {
  TensorType wanted = input_type();
  if (images.shape().rank() > 0) wanted.shape[0] = images.shape()[0];
  if (images.type() != wanted || wanted.shape[0] == 0) {
    return invalid("images are " + to_string(images.type()) + ", the network takes " +
                   to_string(wanted));
  }
  return Progress{
      .next = 0, .images = static_cast<size_t>(wanted.shape[0]), .live = {{input(), images}}};
}

Result<Tensor> Runner::advance(Progress& progress) const { return state_->advance(progress); }

Result<std::vector<Answer>> Runner::run(const Tensor& images,
                                        std::span<const double> thresholds) const {
  SHOAL_CHECK(thresholds.size() == exits().size());
  return run_until(images, [&](size_t, const Answer& answer) {
    return answer.probability >= thresholds[answer.exit];
  });
}

Result<std::vector<Answer>> Runner::run(const Tensor& images,
                                        std::span<const ExitWish> wishes) const {
  SHOAL_CHECK(images.shape().rank() > 0 && static_cast<size_t>(images.shape()[0]) == wishes.size());
  return run_until(images, [&](size_t image, const Answer& answer) {
    const ExitWish& wish = wishes[image];
    return answer.exit >= wish.last || answer.probability >= wish.confidence;
  });
}

// The last classifier's answers are taken always.
Result<std::vector<Answer>> Runner::run_until(const Tensor& images, const Takes& takes) const {
  SHOAL_ASSIGN(Progress progress, start(images));
  std::vector<Answer> answers(progress.images);
  std::vector<size_t> left(progress.images);  // which image each row is
  std::iota(left.begin(), left.end(), size_t{0});
  while (!left.empty()) {
    const size_t exit = progress.next;
    const bool last = exit == exits().size();
    SHOAL_ASSIGN(const Tensor scores, advance(progress));
    const auto classes = static_cast<size_t>(scores.shape()[1]);
    std::vector<size_t> rows, images_left;
    for (size_t row = 0; row < left.size(); ++row) {
      const auto own = scores.data<float>().subspan(row * classes, classes);
      // The last classifier may end with a Softmax; exits do not.
      Answer answer = answer_of(own, last && fit::are_probabilities(own), exit);
      if (last || takes(left[row], answer)) {
        answer.scores.assign(own.begin(), own.end());
        answers[left[row]] = std::move(answer);
      } else {
        rows.push_back(row);
        images_left.push_back(left[row]);
      }
    }
    if (!rows.empty() && rows.size() < left.size()) keep_rows(progress, rows);
    left = std::move(images_left);
  }
  return answers;
}

Result<ExitsEvaluation> evaluate(const Runner& runner, std::span<const double> thresholds,
                                 const Dataset& data, const fit::EvaluationOptions& options) {
  const size_t stages = runner.stage_macs().size();
  const size_t count = options.examples_of(data);
  std::vector<size_t> answered(stages, 0), correct(stages, 0);
  ExitsEvaluation result;
  const Shape& shape = runner.input_type().shape;
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  const Batches batches(
      data, [&](const Tensor& image) { return image_for_input(image, dims, options.preprocess); },
      {.batch = options.batch > 0 ? options.batch : std::clamp<size_t>(count, 1, kUsualBatch)});
  std::optional<Prefetch> prefetch;
  if (count > 0) prefetch.emplace(batches, 0, 0, kLoaders, kAhead);
  while (result.answers.images() < count) {
    if (options.cancel != nullptr && options.cancel->load()) break;
    SHOAL_ASSIGN(const Batch batch, prefetch->next());
    SHOAL_ASSIGN(const std::vector<Answer> answers, runner.run(batch.images, thresholds));
    for (size_t i = 0; i < batch.fresh && result.answers.images() < count; ++i) {
      const Answer& answer = answers[i];
      const int64_t label = batch.labels.data<int64_t>()[i];
      const bool probabilities = answer.exit + 1 == stages && fit::are_probabilities(answer.scores);
      result.answers.add(answer.scores, probabilities, label, batch.examples[i]);
      ++answered[answer.exit];
      correct[answer.exit] += fit::rank_of(answer.scores, label) == 0 ? 1 : 0;
    }
    if (options.progress) options.progress(result.answers.images(), count);
  }
  result.figures = figures_of(answered, correct, runner.stage_macs());
  return result;
}

}  // namespace shoal::exits
