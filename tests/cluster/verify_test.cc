// Workers that lie: they are found, and no other worker is blamed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/benchmarks/verify_race.h"
#include "shoal/cluster/coordinator/policy/judge.h"
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/cluster/emulate/faults/lying_device.h"
#include "shoal/cluster/tasks/deployment.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/coding/protect.h"
#include "shoal/plan/search/choices.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using plan::Rng;

constexpr uint64_t kRequest = 1;

// A plan's workers without threads: pieces are delivered one at a time, in a random order, and
// every machine compares its pieces when none is in flight any more. The liar changes one element
// of one result, as it computes it or as it sends it.
class Machines {
 public:
  struct Lie {
    int worker = 0;
    size_t result = 0;    // of that worker's, in the order of computing
    bool to_one = false;  // only one receiver is sent the wrong element
    float by = 0;         // multiples of the result's largest element
  };

  Machines(const plan::ScheduledPlan& scheduled, Lie lie) : scheduled_(scheduled), lie_(lie) {
    const plan::Plan& plan = scheduled.plan();
    std::map<int, std::vector<WorkerTask>> tasks;
    std::map<int, std::vector<TaskCode>> codes;
    for (size_t s = 0; s < plan.segments.size(); ++s) {
      for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
        const int worker = plan.segments[s].tasks[t].worker;
        const plan::Part& part = scheduled.schedule().parts[s][t];
        WorkerTask task;
        task.executable =
            *make_reference_device()->compile(*plan::to_graph(scheduled.graph(), part));
        task.inputs = part.inputs;
        task.outputs = part.outputs;
        task.sends = sends_of(scheduled.schedule(), part, worker);
        for (const plan::CodeRead& read : scheduled.schedule().code_reads[s][t]) {
          task.codes.push_back(task_code(scheduled.graph(), plan, read));
          codes[worker].push_back(task.codes.back());
        }
        tasks[worker].push_back(std::move(task));
      }
    }
    for (auto& [worker, its] : tasks) {
      deployments_.try_emplace(worker, std::move(its));
      witnesses_.try_emplace(worker, codes[worker]);
    }
    witnesses_.try_emplace(plan::kCoordinator);
    for (ValueId id : scheduled.graph().outputs()) {
      answer_.push_back(Tensor(scheduled.graph()[id].type));
    }
  }

  std::vector<Tensor> run(Rng& rng, const std::vector<Tensor>& inputs) {
    const auto wanted = scheduled_.graph().inputs();
    for (const plan::Transfer& transfer : scheduled_.schedule().transfers) {
      if (transfer.from != plan::kCoordinator) continue;
      const auto at = std::ranges::find(wanted, transfer.piece.value) - wanted.begin();
      const Tensor& whole = inputs[static_cast<size_t>(at)];
      on_its_way_.push_back(
          {transfer.from, transfer.to, transfer.piece, crop(whole, transfer.piece.region)});
    }
    while (!on_its_way_.empty()) {
      const auto last = std::ssize(on_its_way_) - 1;
      std::swap(on_its_way_[static_cast<size_t>(plan::draw(rng, 0, last))], on_its_way_.back());
      const Message message = std::move(on_its_way_.back());
      on_its_way_.pop_back();
      bytes_ += static_cast<int64_t>(message.elements.bytes().size());
      deliver(message);
    }
    return answer_;
  }

  // What all machines say about the request.
  std::vector<ReportedDispute> disputes(double tolerance) {
    std::vector<ReportedDispute> all;
    for (auto& [machine, witness] : witnesses_) {
      const auto found = witness.check(kRequest, {pieces_of(scheduled_, machine), tolerance});
      EXPECT_TRUE(found.has_value()) << "machine " << machine << " waits for pieces";
      for (const Dispute& dispute : found.value_or(std::vector<Dispute>())) {
        all.push_back({machine, dispute});
      }
    }
    return all;
  }
  bool lied() const { return lied_; }
  int64_t bytes() const { return bytes_; }  // that were delivered

 private:
  struct Message {
    int from, to;
    plan::Piece piece;
    Tensor elements;
  };

  void deliver(const Message& message) {
    const std::string from = message.from < 0 ? "" : address_of(message.from);
    if (message.from >= 0) {
      witnesses_.at(message.to).add(kRequest, from, message.piece, message.elements);
    }
    if (message.to == plan::kCoordinator) {
      const auto outputs = scheduled_.graph().outputs();
      const auto at = std::ranges::find(outputs, message.piece.value) - outputs.begin();
      paste(message.elements, message.piece.region, answer_[static_cast<size_t>(at)]);
      return;
    }
    Deployment& deployment = deployments_.at(message.to);
    ASSERT_TRUE(deployment.put(kRequest, message.piece, message.elements, {}).ok());
    while (const auto ready = deployment.take({})) compute(message.to, deployment, *ready);
  }

  void compute(int worker, Deployment& deployment, const ReadyTask& ready) {
    const WorkerTask& task = deployment.tasks()[ready.task];
    std::vector<Tensor> outputs(task.outputs.size());
    ASSERT_TRUE(task.executable->run(ready.inputs, outputs, {}).ok());
    bool lies = false;
    for (Tensor& output : outputs) {
      if (worker == lie_.worker && results_++ == lie_.result) {
        lies = true;
        if (!lie_.to_one) output = changed(output);
      }
    }
    for (const SendOrder& order : task.sends) {
      const auto made = std::ranges::find_if(task.outputs, [&](const plan::Piece& output) {
        return output.value == order.piece.value &&
               plan::intersection(output.region, order.piece.region) == order.piece.region;
      });
      const Tensor& whole = outputs[static_cast<size_t>(made - task.outputs.begin())];
      Tensor part = crop(whole, plan::relative(order.piece.region, made->region));
      if (lies && std::exchange(lie_.to_one, false)) part = changed(part);
      on_its_way_.push_back({worker, order.to, order.piece, std::move(part)});
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      witnesses_.at(worker).add(kRequest, "", task.outputs[i], outputs[i]);
    }
    EXPECT_TRUE(deployment.finish(ready, outputs, {}).ok());
  }

  Tensor changed(const Tensor& tensor) {
    Tensor wrong = tensor.clone();
    float largest = 1e-3f;
    for (float x : tensor.data<float>()) largest = std::max(largest, std::abs(x));
    wrong.data<float>()[wrong.data<float>().size() / 2] += lie_.by * largest;
    lied_ = true;
    return wrong;
  }

  const plan::ScheduledPlan& scheduled_;
  Lie lie_;
  size_t results_ = 0;
  int64_t bytes_ = 0;
  bool lied_ = false;
  std::map<int, Deployment> deployments_;
  std::map<int, Witness> witnesses_;
  std::vector<Message> on_its_way_;
  std::vector<Tensor> answer_;
};

// Each node over the channels of all but the spare workers, or over the rows of all.
plan::Plan random_split(Rng& rng, const Graph& graph, int workers) {
  const bool channels = plan::draw(rng, 0, 2) > 0;
  plan::Layout layout{channels ? plan::Cut::kChannels : plan::Cut::kRows, {}, {}, 1};
  for (int w = 0; w < workers; ++w) {
    layout.workers.push_back(w);
    layout.shares.push_back(1 + w % 2);
  }
  return plan::split_each_node(graph, layout);
}

struct Drawn {
  Graph graph;
  plan::ScheduledPlan scheduled;
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
  int workers = 0;
};

std::optional<Drawn> draw_plan(Rng& rng) {
  Graph graph = plan::random_network(rng);
  if (graph.nodes().empty()) return std::nullopt;
  const int losses = static_cast<int>(plan::draw(rng, 1, 2));
  const int workers = static_cast<int>(plan::draw(rng, 3, 6));
  std::vector<int> all(static_cast<size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  auto made =
      plan::protect(graph, random_split(rng, graph, std::max(1, workers - losses)), losses, all);
  if (!made.ok()) return std::nullopt;
  Drawn drawn{graph, *plan::ScheduledPlan::make(made->graph, made->plan), {}, {}, workers};
  for (ValueId id : graph.inputs()) {
    drawn.inputs.push_back(plan::random_tensor(rng, graph[id].type.shape));
  }
  for (int w = 0; w < workers; ++w) drawn.names.push_back(address_of(w));
  return drawn;
}

DisputedRequest request_of(const Drawn& drawn, std::vector<ReportedDispute> disputes) {
  const auto deployed = std::make_shared<const DeployedPlan>(DeployedPlan{1, drawn.scheduled});
  return {{deployed, kRequest},
          drawn.inputs,
          plan::rounding_bound(drawn.scheduled.graph()),
          std::move(disputes)};
}

// The law: whatever a worker changes, and whichever worker it sends it to, no other is accused; and
// if the answer is wrong, or the lie larger than rounding, it is.
TEST(Verified, OnlyTheLiarIsAccused) {
  const auto device = make_reference_device();
  int lies = 0, found = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto drawn = draw_plan(rng);
    if (!drawn) continue;
    const Machines::Lie lie{static_cast<int>(plan::draw(rng, 0, drawn->workers - 1)),
                            static_cast<size_t>(plan::draw(rng, 0, 3)), plan::draw(rng, 0, 1) == 1,
                            plan::draw(rng, 0, 1) == 1 ? 1.0f : -0.01f};
    Machines machines(drawn->scheduled, lie);
    const auto answer = machines.run(rng, drawn->inputs);
    int64_t planned = 0;
    for (const plan::Transfer& transfer : drawn->scheduled.schedule().transfers) {
      planned += plan::bytes_of(drawn->scheduled.graph(), transfer.piece);
    }
    EXPECT_EQ(machines.bytes(), planned) << "bytes predicted are bytes sent";
    const double tolerance = plan::rounding_bound(drawn->scheduled.graph());
    const auto accusations =
        judge(request_of(*drawn, machines.disputes(tolerance)), drawn->names, *device);
    ASSERT_TRUE(accusations.ok()) << accusations.status().message();
    for (const Accusation& one : *accusations) EXPECT_EQ(one.sender, lie.worker);
    if (!machines.lied()) {
      EXPECT_TRUE(accusations->empty());
      continue;
    }
    ++lies;
    found += accusations->empty() ? 0 : 1;
    if (relative_error(answer, run_whole(drawn->graph, drawn->inputs)) > 1e-2) {
      EXPECT_FALSE(accusations->empty());
    }
  }
  EXPECT_GT(lies, 50);
  // A lie about a value that only its maker reads is harmless before it is sent on.
  EXPECT_GE(found, lies * 9 / 10) << lies;
}

// Workers that report falsely accuse only senders; reports that do not fit the plan are ignored.
TEST(Verified, ReportsAreNotBelievedAgainstThePlan) {
  const auto device = make_reference_device();
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto drawn = draw_plan(rng);
    if (!drawn) continue;
    std::vector<ReportedDispute> disputes;
    for (int i = 0; i < 8; ++i) {
      Dispute dispute;
      for (int64_t d = plan::draw(rng, 0, 5); d > 0; --d) {
        dispute.index.push_back(plan::draw(rng, -2, 20));
      }
      for (int64_t c = plan::draw(rng, 0, 3); c > 0; --c) {
        const auto value =
            plan::draw(rng, -2, static_cast<int64_t>(drawn->scheduled.graph().value_count()) + 2);
        dispute.claims.push_back({address_of(static_cast<int>(plan::draw(rng, 0, 7))),
                                  ValueId{static_cast<int32_t>(value)}, 1e6});
      }
      disputes.push_back({0, dispute});
    }
    const auto accusations = judge(request_of(*drawn, disputes), drawn->names, *device);
    ASSERT_TRUE(accusations.ok()) << accusations.status().message();
    for (const Accusation& one : *accusations) {
      EXPECT_TRUE(one.sender >= 0 && one.sender < drawn->workers);
      EXPECT_EQ(one.reporter, 0);
    }
  }
}

// A device that lies and the honest one that it wraps.
class Liar final : public Device {
 public:
  explicit Liar(uint64_t every) : lying_(emulate::make_lying_device(*honest_, every)) {}
  const DeviceInfo& info() const override { return lying_->info(); }
  Result<MemoryUse> memory_of(const Graph& graph) override { return lying_->memory_of(graph); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    return lying_->compile(graph);
  }

 private:
  const std::unique_ptr<Device> honest_ = make_reference_device();
  const std::unique_ptr<Device> lying_;
};

Graph two_layers() {
  Rng rng(3);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 8, 6, 6}});
  for (int i = 0; i < 2; ++i) {
    const ValueId w = graph.add_constant("w", plan::random_tensor(rng, {8, 8, 3, 3}));
    x = *graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    x = *graph.add(ops::relu, {x});
  }
  graph.mark_output(x);
  return graph;
}

// A model that survives a loss, on workers the last of which may lie, checked all the time.
class Checked {
 public:
  explicit Checked(uint64_t lies, uint64_t verify)
      : cluster_(4, nullptr, {},
                 [=](int worker) -> std::unique_ptr<Device> {
                   if (lies == 0 || worker < 3) return make_reference_device();
                   return std::make_unique<Liar>(lies);
                 }),
        judge_(make_reference_device()) {
    auto started = FailoverDeployment::start(
        cluster_.coordinator(), {.plan = one_turn([this](const Workers& set) {
                                   return plan::make_plan_for(set, graph_, slow_workers(4),
                                                              {.survive = 1});
                                 }),
                                 .standby = true,
                                 .retry_interval = 1ms,
                                 .verify = verify,
                                 .judge = judge_.get(),
                                 .left_out = [this](const Status& why) { said_ = why.message(); }});
    EXPECT_TRUE(started.ok()) << started.status().message();
    failover_ = *std::move(started);
    failover_->settle();
  }

  // Whether the answer to the next request is right.
  bool ask() {
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng_, graph_[graph_.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = failover_->run(inputs, outputs, 20s);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() && relative_error(outputs, run_whole(graph_, inputs)) < kSameAnswer;
  }
  Coordinator& coordinator() { return cluster_.coordinator(); }
  FailoverDeployment& failover() { return *failover_; }
  const std::string& said() const { return said_; }

 private:
  const Graph graph_ = two_layers();
  Rng rng_{5};
  std::string said_;
  Cluster cluster_;
  const std::unique_ptr<Device> judge_;
  std::unique_ptr<FailoverDeployment> failover_;
};

TEST(Verified, AWorkerThatLiesIsLeftOut) {
  Checked checked(5, 1);
  EXPECT_TRUE(eventually([&] {
    checked.ask();
    return !checked.failover().left_out().empty();
  }));
  checked.failover().settle();
  EXPECT_EQ(checked.failover().left_out(), Workers{3});
  EXPECT_EQ(checked.coordinator().lost(), std::vector<int>{3}) << "and is not looked for";
  EXPECT_NE(checked.said().find("worker worker-3 is left out"), std::string::npos)
      << checked.said();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(checked.ask());
}

TEST(Verified, ARaceSaysWhatItCostsAndWhoWasWrong) {
  const Graph graph = two_layers();
  const auto judge = make_reference_device();
  for (uint64_t lies : {uint64_t{0}, uint64_t{5}}) {
    Cluster cluster(4, nullptr, {}, [=](int worker) -> std::unique_ptr<Device> {
      if (lies == 0 || worker < 3) return make_reference_device();
      return std::make_unique<Liar>(lies);
    });
    const auto made = plan::make_plans(graph, slow_workers(4), {.survive = 1});
    ASSERT_TRUE(made.ok());
    const auto result = race_verification(cluster.coordinator(), made->front(), *judge,
                                          {.every = 2, .seconds = lies == 0 ? 0.0 : 0.5});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_GE(result->plain.count(), 6u);
    EXPECT_EQ(result->plain.count(), result->verified.count());
    for (const auto& [name, times] : result->accused) EXPECT_EQ(name, address_of(3));
    EXPECT_TRUE(lies > 0 || result->accused.empty());
  }
}

TEST(Verified, HonestWorkersStay) {
  Checked checked(0, 2);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(checked.ask());
  const auto ended = [&] {
    const Checks::Tally tally = checked.coordinator().checks();
    return tally.checked > 0 && tally.checked + tally.dropped == 20;
  };
  EXPECT_TRUE(eventually(ended)) << checked.coordinator().checks().checked;
  EXPECT_EQ(checked.coordinator().checks().disputed, 0u);
  EXPECT_TRUE(checked.failover().left_out().empty());
}

}  // namespace
}  // namespace shoal::cluster
