#include "shoal/serve/engine/served_model.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shoal::serve {
namespace {

using Clock = std::chrono::steady_clock;

// Without inputs that the model has a default for; requests may name them all the same.
std::vector<TensorMetadata> describe_tensors(const std::vector<TensorInfo>& tensors) {
  std::vector<TensorMetadata> described;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.optional) continue;
    described.push_back({tensor.name, tensor.dtype, tensor.dims.value_or(std::vector<int64_t>())});
  }
  return described;
}

// Whether every output of the graph has one row for each item.
bool has_rows(const Graph& graph, int64_t items) {
  return std::ranges::all_of(graph.outputs(), [&](ValueId id) {
    const Shape& shape = graph[id].type.shape;
    return shape.rank() > 0 && shape[0] == items;
  });
}

// Rows [begin, begin + count) of the first dimension, shared.
Tensor rows_of(const std::shared_ptr<const Tensor>& all, int64_t begin, int64_t count) {
  TensorType type = all->type();
  const size_t row = type.bytes() / static_cast<size_t>(type.shape[0]);
  type.shape[0] = count;
  return Tensor::view(type, all->bytes().data() + row * static_cast<size_t>(begin), all);
}

// The fastest of a few runs on zeros.
Result<Clock::duration> time_batch(Session& session, const TensorType& type) {
  constexpr int kRuns = 5;
  const Tensor input(type);
  Clock::duration best{0};
  for (int i = 0; i < kRuns; ++i) {
    std::vector<Tensor> outputs(session.outputs().size());
    const auto begin = Clock::now();
    SHOAL_TRY(session.run(std::span(&input, 1), outputs));
    const Clock::duration took = Clock::now() - begin;
    best = i == 0 ? took : std::min(best, took);
  }
  return best;
}

}  // namespace

Result<std::shared_ptr<ServedModel>> ServedModel::load(const ModelSource& source, Device& device) {
  SHOAL_ASSIGN(const Model model, source.open ? source.open() : open_model(source.model));
  SHOAL_ASSIGN(Session session, model.session(device));
  std::shared_ptr<ServedModel> served(new ServedModel(std::move(session)));
  SHOAL_ASSIGN(const auto inputs, model.inputs());
  SHOAL_ASSIGN(const auto outputs, model.outputs());
  ModelFacts facts{
      .source = source,
      .metadata = {source.name, "1", describe_tensors(inputs), describe_tensors(outputs)},
      .inputs = served->inputs()};
  if (source.shared != nullptr) {
    SHOAL_TRY(served->share(source, device));
  } else {
    served->prepare_batches(model, device, facts);
  }
  if (model.properties().contains("shoal.exits")) {
    served->exits_ = ExitServer::create(model, device);
  }
  facts.max_batch = served->max_batch();
  served->facts_ = std::make_shared<const ModelFacts>(std::move(facts));
  return served;
}

// The suffix was cut out of an optimised network, and is run as it is.
Status ServedModel::share(const ModelSource& source, Device& device) {
  SHOAL_ASSIGN(auto first, source.shared->layers->runner(device));
  SHOAL_ASSIGN(Session rest,
               Session::open(source.shared->suffix.graph, device, {.optimize = false}));
  shared_.emplace(Shared{std::move(first), source.shared, std::move(rest)});
  return {};
}

Result<std::vector<Tensor>> ServedModel::run_shared(const Inputs& inputs,
                                                    const RequestOptions& options) {
  SHOAL_ASSIGN(const prefix::PrefixRunner::Values values, shared_->first->run(inputs));
  const prefix::Suffix& suffix = shared_->parts->suffix;
  std::vector<Tensor> given;
  for (const size_t i : suffix.from_prefix) given.push_back((*values)[i]);
  for (const size_t i : suffix.from_networks) given.push_back(inputs[i]);
  std::vector<Tensor> outputs(session_.outputs().size());
  SHOAL_TRY(shared_->rest.run(given, outputs, options));
  return outputs;
}

// That a model takes no batches is no failure. It is compiled now for the shapes it declares; one
// that leaves sizes open is compiled by the first request.
void ServedModel::prepare_batches(const Model& model, Device& device, ModelFacts& facts) {
  constexpr double kWorthwhile = 0.95;  // time per item, by that of half the batch
  constexpr int64_t kMost = 32;
  const bool measures = facts.source.max_batch == 0;
  const int64_t most = measures ? kMost : facts.source.max_batch;
  double before = 0;
  for (int64_t items = 1; items <= most; items *= 2) {
    const Result<LoadedGraph> loaded = model.graph_for_batch(items);
    if (!loaded.ok() || !has_rows(loaded->graph, items)) break;
    const TensorType type = loaded->graph[loaded->graph.inputs()[0]].type;
    Result<Session> session = Session::open(loaded->graph, device);
    if (!session.ok()) break;
    const Result<Clock::duration> took = time_batch(*session, type);
    if (!took.ok()) break;
    const double each = std::chrono::duration<double>(*took).count() / static_cast<double>(items);
    if (measures && items > 1 && each > kWorthwhile * before) break;
    before = each;
    if (items == 1) {
      item_ = type;
      facts.ms = 1e3 * each;
    }
    batched_.emplace(items, *std::move(session));
    batch_times_.emplace(items, *took);
  }
  if (batched_.empty()) (void)session_.prepare();
}

int64_t ServedModel::batch_items(const Inputs& inputs) const {
  if (batched_.empty() || inputs.size() != 1) return 0;
  TensorType type = inputs[0].type();
  if (type.shape.rank() == 0) return 0;
  const int64_t items = type.shape[0];
  type.shape[0] = 1;
  return items > 0 && items <= max_batch() && type == item_ ? items : 0;
}

Result<std::vector<Tensor>> ServedModel::run(const Inputs& inputs, const RequestOptions& options) {
  const auto type_of = [](const Tensor& tensor) { return tensor.type(); };
  if (shared_ && std::ranges::equal(inputs, shared_->parts->inputs, {}, type_of)) {
    return run_shared(inputs, options);
  }
  std::vector<Tensor> outputs(session_.outputs().size());
  const auto exact = batched_.find(batch_items(inputs));
  Session& session = exact == batched_.end() ? session_ : exact->second;
  SHOAL_TRY(session.run(inputs, outputs, options));
  return outputs;
}

Result<std::vector<std::vector<Tensor>>> ServedModel::run_batch(
    std::span<const Inputs* const> requests, const RequestOptions& options) {
  std::vector<int64_t> items;
  int64_t total = 0;
  for (const Inputs* request : requests) total += items.emplace_back((*request)[0].shape()[0]);
  const auto size = batched_.lower_bound(total);
  SHOAL_CHECK(size != batched_.end());
  TensorType type = item_;
  type.shape[0] = size->first;
  Tensor batch = Tensor::uninitialized(type);
  std::byte* to = batch.bytes().data();
  std::byte* const end = to + batch.bytes().size();
  for (const Inputs* request : requests) {
    const auto from = std::as_const((*request)[0]).bytes();
    std::memcpy(to, from.data(), from.size());
    to += from.size();
  }
  std::fill(to, end, std::byte{0});
  std::vector<Tensor> outputs(session_.outputs().size());
  SHOAL_TRY(size->second.run(std::span<const Tensor>(&batch, 1), outputs, options));

  std::vector<std::vector<Tensor>> answers(requests.size());
  for (Tensor& output : outputs) {
    const auto all = std::make_shared<const Tensor>(std::move(output));
    int64_t begin = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      answers[i].push_back(rows_of(all, begin, items[i]));
      begin += items[i];
    }
  }
  return answers;
}

}  // namespace shoal::serve
