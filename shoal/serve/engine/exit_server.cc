#include "shoal/serve/engine/exit_server.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "shoal/base/checked.h"

namespace shoal::serve {
namespace {

using Clock = std::chrono::steady_clock;

// Milliseconds from the beginning to each exit, the fastest of a few runs on zeros.
Result<std::vector<double>> measure(const exits::Runner& runner) {
  constexpr int kRuns = 5;
  std::vector<double> best;
  for (int i = 0; i < kRuns; ++i) {
    SHOAL_ASSIGN(exits::Progress progress, runner.start(Tensor(runner.input_type())));
    std::vector<double> until;
    const auto begin = Clock::now();
    for (size_t stage = 0; stage < runner.stage_macs().size(); ++stage) {
      SHOAL_TRY(runner.advance(progress).status());
      until.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    if (i == 0) best = until;
    for (size_t s = 0; s < best.size(); ++s) best[s] = std::min(best[s], until[s]);
  }
  return best;
}

// All images in one tensor. kInvalidArgument unless they are alike.
Result<Tensor> joined(std::span<const Tensor* const> requests) {
  TensorType type = requests[0]->type();
  Checked items(int64_t{0});
  for (const Tensor* request : requests) {
    TensorType own = request->type();
    if (own.shape.rank() == 0 || own.shape.rank() != type.shape.rank()) {
      return invalid("images have a first dimension");
    }
    items = items + own.shape[0];
    own.shape[0] = type.shape[0];
    if (own != type) return invalid("images are of different types");
  }
  if (requests.size() == 1) return *requests[0];
  type.shape[0] = items.value();
  Tensor all = Tensor::uninitialized(type);
  std::byte* to = all.bytes().data();
  for (const Tensor* request : requests) {
    const auto from = request->bytes();
    std::memcpy(to, from.data(), from.size());
    to += from.size();
  }
  return all;
}

}  // namespace

std::optional<ExitServer> ExitServer::create(const Model& model, Device& device) {
  const auto network = [model](int64_t batch) { return exits::load_multi_exit(model, batch); };
  auto runner = exits::Runner::create(device, network);
  if (!runner.ok()) return std::nullopt;
  ExitServer server(*std::move(runner));
  auto ms = measure(server.runner_);
  if (!ms.ok()) return std::nullopt;
  server.ms_ = *std::move(ms);
  return server;
}

exits::ExitWish ExitServer::resolve(const Wish& wish) const {
  const auto& exits = runner_.exits();
  size_t last = exits.size();  // the last classifier
  if (wish.accuracy) {
    const auto is_enough = [&](const exits::Exit& exit) {
      return exit.top1 > 0 && exit.top1 >= 100 * *wish.accuracy;
    };
    last = static_cast<size_t>(std::ranges::find_if(exits, is_enough) - exits.begin());
  }
  if (wish.exit) last = std::min(last, static_cast<size_t>(*wish.exit) - 1);
  if (wish.latency_ms) {
    while (last > 0 && ms_[last] > *wish.latency_ms) --last;
  }
  return {.confidence = wish.confidence.value_or(exits::kNever), .last = last};
}

Result<std::vector<ExitAnswers>> ExitServer::run(std::span<const Tensor* const> requests,
                                                 std::span<const Wish> wishes) const {
  SHOAL_ASSIGN(const Tensor images, joined(requests));
  std::vector<exits::ExitWish> resolved;
  for (size_t i = 0; i < requests.size(); ++i) {
    resolved.insert(resolved.end(), static_cast<size_t>(requests[i]->shape()[0]),
                    resolve(wishes[i]));
  }
  SHOAL_ASSIGN(const std::vector<exits::Answer> answers, runner_.run(images, resolved));
  std::vector<ExitAnswers> all;
  size_t next = 0;
  for (const Tensor* request : requests) {
    const int64_t items = request->shape()[0];
    const auto classes = static_cast<int64_t>(answers[next].scores.size());
    ExitAnswers& own = all.emplace_back();
    own.scores = Tensor::uninitialized({DType::kF32, {items, classes}});
    auto to = own.scores.data<float>().begin();
    for (int64_t i = 0; i < items; ++i, ++next) {
      to = std::ranges::copy(answers[next].scores, to).out;
      own.exits.push_back(answers[next].exit + 1);
    }
  }
  return all;
}

}  // namespace shoal::serve
