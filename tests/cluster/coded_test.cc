// Deployments of protected plans: they compute missing data, whatever comes in whatever order.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/cluster/tasks/deployment.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/coding/protect.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using plan::Rng;

constexpr uint64_t kRequest = 1;
constexpr Deployment::Time kStart{};

TaskCode code_of(const Graph& graph, const plan::Plan& plan, const plan::CodeRead& read) {
  const plan::ErasureCode& code = plan.codes[read.code];
  TaskCode its{code.coefficients, code.axis, graph[code.data[0]].type.dtype, read.data};
  its.members.insert(its.members.end(), read.parity.begin(), read.parity.end());
  return its;
}

// A plan's workers without threads: pieces are delivered one at a time, in a random order. Lost
// workers do nothing.
class Workers {
 public:
  Workers(const Graph& graph, const plan::Plan& plan, std::chrono::milliseconds wait = {})
      : graph_(graph), schedule_(*plan::make_schedule(graph, plan)) {
    std::map<int, std::vector<WorkerTask>> tasks;
    for (size_t s = 0; s < plan.segments.size(); ++s) {
      for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
        const int worker = plan.segments[s].tasks[t].worker;
        tasks[worker].push_back(make_task(plan, worker, s, t));
      }
    }
    for (auto& [worker, its] : tasks) deployments_.try_emplace(worker, std::move(its), wait);
    for (ValueId id : graph.outputs()) answer_.push_back(Tensor(graph[id].type));
  }

  // The coordinator's pieces when none is in flight any more.
  std::vector<Tensor> run(Rng& rng, const std::vector<Tensor>& inputs, std::set<int> lost) {
    for (const plan::Transfer& transfer : schedule_.transfers) {
      if (transfer.from != plan::kCoordinator) continue;
      const auto at = std::ranges::find(graph_.inputs(), transfer.piece.value);
      const Tensor& whole = inputs[static_cast<size_t>(at - graph_.inputs().begin())];
      on_its_way_.push_back({transfer.piece, transfer.to, crop(whole, transfer.piece.region)});
    }
    while (!on_its_way_.empty()) {
      const auto last = std::ssize(on_its_way_) - 1;
      std::swap(on_its_way_[static_cast<size_t>(plan::draw(rng, 0, last))], on_its_way_.back());
      const Message message = std::move(on_its_way_.back());
      on_its_way_.pop_back();
      if (!lost.contains(message.to)) deliver(message);
    }
    return answer_;
  }

 private:
  struct Message {
    plan::Piece piece;
    int to;
    Tensor elements;
  };

  WorkerTask make_task(const plan::Plan& plan, int worker, size_t s, size_t t) const {
    const plan::Part& part = schedule_.parts[s][t];
    WorkerTask task;
    task.executable = *make_reference_device()->compile(*plan::to_graph(graph_, part));
    task.inputs = part.inputs;
    task.outputs = part.outputs;
    for (const plan::Transfer& transfer : schedule_.transfers) {
      for (const plan::Piece& output : part.outputs) {
        const bool mine =
            transfer.from == worker && output.value == transfer.piece.value &&
            plan::intersection(output.region, transfer.piece.region) == transfer.piece.region;
        if (mine) task.sends.push_back({transfer.piece, transfer.to});
      }
    }
    for (const plan::CodeRead& read : schedule_.code_reads[s][t]) {
      task.codes.push_back(code_of(graph_, plan, read));
    }
    return task;
  }

  void deliver(const Message& message) {
    if (message.to == plan::kCoordinator) {
      const auto at = std::ranges::find(graph_.outputs(), message.piece.value);
      paste(message.elements, message.piece.region,
            answer_[static_cast<size_t>(at - graph_.outputs().begin())]);
      return;
    }
    Deployment& deployment = deployments_.at(message.to);
    ASSERT_TRUE(deployment.put(kRequest, message.piece, message.elements, kStart).ok());
    while (const auto ready = deployment.take(kStart)) {
      const WorkerTask& task = deployment.tasks()[ready->task];
      std::vector<Tensor> outputs(task.outputs.size());
      ASSERT_TRUE(task.executable->run(ready->inputs, outputs, {}).ok());
      for (const SendOrder& order : task.sends) send(task, outputs, order);
      EXPECT_TRUE(deployment.finish(*ready, outputs, kStart).ok());
    }
  }

  void send(const WorkerTask& task, const std::vector<Tensor>& outputs, const SendOrder& order) {
    const auto made = std::ranges::find(task.outputs, order.piece.value, &plan::Piece::value);
    const Tensor& whole = outputs[static_cast<size_t>(made - task.outputs.begin())];
    on_its_way_.push_back(
        {order.piece, order.to, crop(whole, plan::relative(order.piece.region, made->region))});
  }

  const Graph& graph_;
  const plan::Schedule schedule_;
  std::map<int, Deployment> deployments_;
  std::vector<Message> on_its_way_;
  std::vector<Tensor> answer_;
};

std::vector<Tensor> run_whole(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE((*make_reference_device()->compile(graph))->run(inputs, outputs, {}).ok());
  return outputs;
}

// Each node over the channels of all but the spare workers, where it can be split so.
plan::Plan by_channels(const Graph& graph, int workers) {
  plan::Layout layout{plan::Cut::kChannels, {}, {}, 1};
  for (int w = 0; w < workers; ++w) {
    layout.workers.push_back(w);
    layout.shares.push_back(1 + w % 2);
  }
  return plan::split_each_node(graph, layout);
}

TEST(Coded, DeploymentsComputeWhatIsMissing) {
  size_t codes = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = plan::random_network(rng);
    if (graph.nodes().empty()) continue;
    const int losses = static_cast<int>(plan::draw(rng, 1, 2));
    const int workers = static_cast<int>(plan::draw(rng, 3, 6));
    std::vector<int> all(static_cast<size_t>(workers));
    std::iota(all.begin(), all.end(), 0);
    const plan::Plan single = by_channels(graph, std::max(1, workers - losses));
    const auto made = plan::protect(graph, single, losses, all);
    ASSERT_TRUE(made.ok()) << made.status().message();
    codes += made->plan.codes.size();
    std::ranges::shuffle(all, rng);
    const std::set<int> lost(all.begin(), all.begin() + plan::draw(rng, 0, losses));
    std::vector<Tensor> inputs;
    for (ValueId id : graph.inputs()) {
      inputs.push_back(plan::random_tensor(rng, graph[id].type.shape));
    }
    plan::expect_near(Workers(made->graph, made->plan).run(rng, inputs, lost),
                      run_whole(graph, inputs));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(codes, 50u);
}

plan::Piece box(int value, int64_t length) { return {ValueId{value}, {{0}, {length}}}; }

Tensor floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

TaskCode two_and_a_parity() {
  return {plan::real_coefficients(2, 1), 0, DType::kF32, {box(1, 2), box(2, 1), box(3, 2)}};
}

// A task that reads two values of a code: data 1 and 2, parity 3.
Deployment make_deployment(std::chrono::milliseconds wait) {
  Graph graph;
  const ValueId a = graph.add_input("a", {DType::kF32, {2}});
  const ValueId b = graph.add_input("b", {DType::kF32, {1}});
  graph.mark_output(*graph.add(ops::concat, {a, b}, {{"axis", int64_t{0}}}));
  std::vector<WorkerTask> tasks(1);
  tasks[0].executable = *make_reference_device()->compile(graph);
  tasks[0].inputs = {box(1, 2), box(2, 1)};
  tasks[0].outputs = {box(4, 3)};
  tasks[0].codes = {two_and_a_parity()};
  return Deployment(std::move(tasks), wait);
}

TEST(Wait, PutsDecodingOff) {
  Deployment deployment = make_deployment(20ms);
  ASSERT_TRUE(deployment.put(kRequest, box(3, 2), floats({11, 2}), kStart).ok());
  EXPECT_EQ(deployment.next_time(), std::nullopt);
  ASSERT_TRUE(deployment.put(kRequest, box(1, 2), floats({1, 2}), kStart + 5ms).ok());
  EXPECT_EQ(deployment.next_time(), kStart + 25ms);
  EXPECT_FALSE(deployment.take(kStart + 24ms).has_value());
  const auto task = deployment.take(kStart + 25ms);
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->inputs[1].data<float>()[0], 10);
  EXPECT_EQ(deployment.next_time(), std::nullopt);
}

TEST(Wait, EndsWhenWhatIsMissingComes) {
  Deployment deployment = make_deployment(1h);
  ASSERT_TRUE(deployment.put(kRequest, box(3, 2), floats({11, 2}), kStart).ok());
  ASSERT_TRUE(deployment.put(kRequest, box(2, 1), floats({10}), kStart).ok());
  EXPECT_FALSE(deployment.take(kStart).has_value());
  ASSERT_TRUE(deployment.put(kRequest, box(1, 2), floats({1, 7}), kStart).ok());
  const auto task = deployment.take(kStart);
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->inputs[0].data<float>()[1], 7) << "what came, not what could be computed";
}

TEST(Coded, PiecesThatComeLateAreDropped) {
  Deployment deployment = make_deployment(0ms);
  ASSERT_TRUE(deployment.put(kRequest, box(3, 2), floats({11, 2}), kStart).ok());
  ASSERT_TRUE(deployment.put(kRequest, box(1, 2), floats({1, 2}), kStart).ok());
  const auto task = deployment.take(kStart);
  ASSERT_TRUE(task.has_value());
  EXPECT_TRUE(deployment.put(kRequest, box(2, 1), floats({99}), kStart).ok());
  EXPECT_FALSE(deployment.take(kStart).has_value());
  EXPECT_EQ(task->inputs[1].data<float>()[0], 10);
}

TEST(Wire, CodesComeBackAsTheyWere) {
  message::Code sent;
  encode(two_and_a_parity(), sent);
  const auto back = code_from(sent.SerializeAsString());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->coefficients, two_and_a_parity().coefficients);
  EXPECT_EQ(back->members, two_and_a_parity().members);
  EXPECT_EQ(back->axis, 0u);
}

// Whoever sends them.
TEST(Wire, RefusesCodesThatCannotBeDecoded) {
  const auto refused = [](const std::function<void(message::Code&)>& change) {
    message::Code code;
    encode(two_and_a_parity(), code);
    change(code);
    return !decode(code).ok();
  };
  EXPECT_FALSE(refused([](message::Code&) {}));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_parities(0); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_parities(3); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_parities(2); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_axis(1); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_dtype(99); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.add_coefficients(1); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_coefficients(0, 0); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_coefficients(0, std::nan("")); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.set_coefficients(1, 1e300); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.mutable_members(1)->set_value(1); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.mutable_members(0)->set_end(0, 3); }));
  EXPECT_TRUE(refused([](message::Code& c) { c.mutable_members(2)->set_end(0, 1); }));
  EXPECT_TRUE(refused([](message::Code& c) {
    for (auto& member : *c.mutable_members()) member.set_end(0, int64_t{1} << 50);
  }));
  EXPECT_TRUE(refused([](message::Code& c) {
    c.mutable_members(1)->add_begin(0);
    c.mutable_members(1)->add_end(1);
  }));
}

}  // namespace
}  // namespace shoal::cluster
