#include "shoal/shrink/prune/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/latency/choose_by_time.h"
#include "shoal/shrink/prune/shrink_testing.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::shrink {
namespace {

using fit::testing::make_network;
using fit::testing::Rows;

TEST_F(Shrinking, GivesASmallerNetworkBesideItsControls) {
  ShrinkOptions all = options();
  all.controls = true;
  all.measure_seconds = 0.001;
  all.out = out_;
  std::vector<std::string> names;
  double left = 1e9;
  const auto result = run(all, {.on_step = [&](const ShrinkStep& step) {
                            EXPECT_EQ(step.networks, 4u);
                            if (names.empty() || names.back() != step.network)
                              names.emplace_back(step.network);
                            if (step.step.progress.epoch == 5 && step.step.progress.step == 20)
                              left = step.seconds_left;
                          }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(names, (std::vector<std::string>{"dense control", "smaller network", "from scratch",
                                             "random removal"}));
  EXPECT_EQ(left, 0);
  EXPECT_EQ(result->dense.size.macs, 16 * 8 + 8 * 4);
  EXPECT_EQ(result->small.size.macs, 16 * 4 + 4 * 4);
  EXPECT_EQ(result->small.size.parameters, 16 * 4 + 4 + 4 * 4 + 4);
  EXPECT_GT(result->dense.top1, 90);
  EXPECT_GT(result->small.top1, 80);
  EXPECT_GT(result->held_out_top1, 80);
  EXPECT_LT(result->top1_before, result->dense.top1);
  EXPECT_TRUE(result->top1_scratch && result->top1_random);
  EXPECT_TRUE(result->small.ms && result->dense.ms);
  EXPECT_EQ(result->epochs, 6);
  ASSERT_EQ(result->removed.size(), 1u);
  EXPECT_EQ(result->removed[0].weights, "fc1.weight");
  EXPECT_EQ(result->removed[0].before, 8u);
  EXPECT_EQ(result->removed[0].left, 4u);
  EXPECT_FALSE(result->refused.empty());
  // The file is the network that was evaluated, for any batch.
  const auto written = open_model(out_.string());
  ASSERT_TRUE(written.ok()) << written.status().message();
  const auto graph = written->graph_for_batch(3);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(parameters(graph->graph), result->small.size.parameters);
}

TEST_F(Shrinking, EndsInEightBitsIfAskedTo) {
  ShrinkOptions all = options();
  all.int8 = true;
  all.out = out_;
  const auto result = run(all);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_TRUE(result->int8);
  EXPECT_GT(result->int8->top1_real, 80);
  EXPECT_NEAR(result->small.top1, result->int8->top1_real, 5);
  EXPECT_FALSE(result->int8->notes.empty());
  const auto written = open_model(out_.string());
  ASSERT_TRUE(written.ok()) << written.status().message();
  const auto graph = written->graph_for_batch(3);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(std::ranges::count(graph->graph.nodes(), &ops::quantize_linear, &Node::op), 2);
}

TEST_F(Shrinking, CountsTheBytesOfTheFileInEightBits) {
  ShrinkOptions all = options();
  all.int8 = true;
  all.out = out_;
  all.target = {.macs = 0.9};
  ASSERT_TRUE(run(all).ok());
  const auto readable = written().size();
  for (const double most : {1040.0, 990.0}) {
    all.target = {.bytes = most};
    const auto result = run(all);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_LE(static_cast<double>(written().size()), most);
    EXPECT_LT(written().size(), readable);
    EXPECT_TRUE(open_model(out_.string()).ok());
  }
  all.target = {.bytes = 100};
  EXPECT_EQ(run(all).status().code(), Code::kUnsupported);
}

TEST_F(Shrinking, LearnsToBeRounded) {
  ShrinkOptions all = options();
  all.int8_epochs = 1;
  EXPECT_EQ(run(all).status().code(), Code::kInvalidArgument);  // not without int8
  all.int8 = true;
  all.out = out_;
  const auto result = run(all);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_NEAR(result->small.top1, result->int8->top1_real, 5);
  const std::string learned = written();
  all.int8_epochs = 0;
  ASSERT_TRUE(run(all).ok());
  EXPECT_NE(written(), learned);
}

// Examples that are looked at are counted.
class Counted : public Dataset {
 public:
  Counted(size_t count, uint64_t seed, std::atomic<size_t>& seen)
      : rows_(count, seed), seen_(seen) {}
  size_t size() const override { return rows_.size(); }
  Result<Example> at(size_t index) const override {
    ++seen_;
    return rows_.at(index);
  }
  std::string place(size_t index) const override { return rows_.place(index); }

 private:
  Rows rows_;
  std::atomic<size_t>& seen_;
};

// In image passes; one that learns counts as much as one that only evaluates. What learns
// before anything goes is part of the epochs.
TEST_F(Shrinking, ChoosesForATenthOfWhatLearningCosts) {
  constexpr size_t kTraining = 2000;
  for (const auto importance : {Importance::kTaylor, Importance::kMagnitude, Importance::kLasso}) {
    std::atomic<size_t> seen = 0;
    const fit::JudgedData data = {{std::make_shared<Counted>(kTraining, 1, seen),
                                   std::make_shared<Counted>(kTraining / 10, 2, seen)},
                                  std::make_shared<Rows>(100, 3)};
    ShrinkOptions shrink_options = options();
    shrink_options.importance = importance;
    shrink_options.refit = true;
    std::optional<size_t> choosing;
    const auto result = shrink({*device_, *device_}, model_, data, shrink_options,
                               {.on_note = [&](const std::string& note) {
                                 const bool is_chosen = note.find("fewer multiply") != note.npos;
                                 if (is_chosen && !choosing) choosing = seen;
                               }});
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_TRUE(choosing);
    const size_t learned =
        static_cast<size_t>(epochs_before(shrink_options)) * (kTraining + kTraining / 10);
    const size_t most = static_cast<size_t>(shrink_options.recipe.epochs) * kTraining / 10;
    EXPECT_GE(*choosing, learned);
    EXPECT_LE(*choosing - learned, most) << name_of(importance);
  }
}

TEST_F(Shrinking, WritesTheSameBytesEveryTime) {
  ShrinkOptions file = options();
  file.recipe.epochs = 2;
  file.out = out_;
  const auto first = run(file);
  ASSERT_TRUE(first.ok()) << first.status().message();
  const std::string bytes = written();
  const auto again = run(file);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(first->small.top1, again->small.top1);
  EXPECT_EQ(written(), bytes);
  file.recipe.seed = 2;
  ASSERT_TRUE(run(file).ok());
  EXPECT_NE(written(), bytes);
}

// By a profile times are the same each time, and so is the file.
TEST_F(Shrinking, MeetsATimeOnADevice) {
  ShrinkOptions fast = options();
  fast.recipe.epochs = 2;
  fast.out = out_;
  fast.device = "pi4";
  fast.time = {{.share = 0.75}};
  const auto result = run(fast);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_TRUE(result->ms_predicted && result->ms_predicted_before);
  EXPECT_LE(*result->ms_predicted, 0.75 * *result->ms_predicted_before);
  EXPECT_LT(result->small.size.macs, result->dense.size.macs);
  const std::string bytes = written();
  fast.time = {{.ms = 0.75 * *result->ms_predicted_before}};
  ASSERT_TRUE(run(fast).ok());
  EXPECT_EQ(written(), bytes);
  fast.time->besides.macs = 0.4;
  const auto both = run(fast);
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_LE(*both->ms_predicted, fast.time->ms);
  EXPECT_LE(static_cast<double>(both->small.size.macs),
            0.4 * static_cast<double>(both->dense.size.macs));
  fast.time = {{.ms = 1e3}};  // it is as fast already
  const auto whole = run(fast);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_TRUE(whole->removed.empty());
  fast.time = {{.ms = 1e-9}};
  const Status status = run(fast).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("at least"), std::string::npos) << status.message();
}

TEST_F(Shrinking, PredictsTheTimeOnADeviceForATargetOfSize) {
  ShrinkOptions shrink_options = options();
  shrink_options.recipe.epochs = 1;
  shrink_options.device = "pi4";
  const auto result = run(shrink_options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->small.size.macs, 16 * 4 + 4 * 4);
  EXPECT_LT(*result->ms_predicted, *result->ms_predicted_before);
}

// Of 8 hidden units one is left, which cannot tell four classes apart.
TEST_F(Shrinking, RemovesLessWhereTooMuchWouldBeLost) {
  ShrinkOptions shrink_options = options();
  shrink_options.target = {.units = 0.125};
  shrink_options.max_drop = 5;
  shrink_options.controls = true;
  shrink_options.out = out_;
  std::vector<std::string> names;
  const auto result = run(shrink_options, {.on_step = [&](const ShrinkStep& step) {
                            if (names.empty() || names.back() != step.network)
                              names.emplace_back(step.network);
                          }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->missed.size(), 1u);
  EXPECT_GT(result->dense.top1 - result->missed[0].top1, shrink_options.max_drop);
  EXPECT_EQ(result->missed[0].size.macs, 16 + 4);
  EXPECT_LE(result->dense.top1 - result->small.top1, shrink_options.max_drop);
  EXPECT_GT(result->small.size.macs, result->missed[0].size.macs);
  EXPECT_LT(result->small.size.macs, result->dense.size.macs);
  EXPECT_GT(result->top1_removed, 0);
  EXPECT_EQ(names, (std::vector<std::string>{"dense control", "smaller network", "milder removal",
                                             "from scratch", "random removal"}));
  EXPECT_EQ(parameters(open_model(out_.string())->graph_for_batch(1)->graph),
            result->small.size.parameters);
}

TEST_F(Shrinking, TakesTheDenseControlWhereNothingMayBeLost) {
  ShrinkOptions shrink_options = options();
  shrink_options.target = {.units = 0.125};
  shrink_options.max_drop = 1e-9;
  shrink_options.controls = true;
  shrink_options.measure_seconds = 0.001;
  shrink_options.out = out_;
  const auto result = run(shrink_options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->missed.empty());
  EXPECT_TRUE(result->missed[0].ms);
  EXPECT_EQ(result->small.top1, result->dense.top1);
  EXPECT_EQ(result->held_out_top1, result->held_out_top1_control);
  EXPECT_EQ(result->small.size, result->dense.size);
  EXPECT_TRUE(result->removed.empty());
  EXPECT_FALSE(result->top1_scratch || result->top1_random);
  EXPECT_EQ(parameters(open_model(out_.string())->graph_for_batch(1)->graph),
            result->dense.size.parameters);
}

TEST(Milder, FollowsTheDrop) {
  Choice choice;
  for (size_t round = 1; round <= 8; ++round) {
    choice.rounds.push_back({.units = std::vector<size_t>(round)});
  }
  EXPECT_EQ(milder(choice, 2, 1), &choice.rounds[3]);
  EXPECT_EQ(milder(choice, 1.01, 1), &choice.rounds[6]);
  EXPECT_EQ(milder(choice, 100, 1), nullptr);
  EXPECT_EQ(milder(choice, 1, 1), &choice.rounds[3]);  // test examples alone were against it
  EXPECT_EQ(milder(choice, -1, 1), &choice.rounds[3]);
  for (size_t round : {3u, 4u, 5u}) choice.rounds[round].units.resize(8);  // as many as the last
  EXPECT_EQ(milder(choice, 2, 1), &choice.rounds[2]);
  choice.rounds[0].units.clear();
  EXPECT_EQ(milder(choice, 8, 1), nullptr);
  choice.rounds = {{.units = {1, 2}}};
  EXPECT_EQ(milder(choice, -1, 1), nullptr);
}

// Without a teacher the loss is another one, and the control's too if it has the same teacher.
TEST_F(Shrinking, TeachesAsAsked) {
  ShrinkOptions usual = options();
  usual.recipe.epochs = 2;
  ShrinkOptions alone = usual;
  alone.teacher = Teacher::kNone;
  alone.recipe.loss.distill = 0;
  ShrinkOptions by_control = usual;
  by_control.teacher = Teacher::kControl;
  const auto first_loss = [&](const ShrinkOptions& shrink_options, std::string_view network) {
    double loss = 0;
    std::atomic<bool> is_known = false;
    const auto result = run(shrink_options, {.on_step =
                                                 [&](const ShrinkStep& step) {
                                                   if (step.network != network || is_known) return;
                                                   EXPECT_EQ(step.step.progress.epoch, 0);
                                                   EXPECT_EQ(step.step.progress.step, 1);
                                                   loss = step.step.loss;
                                                   is_known = true;
                                                 },
                                             .cancel = &is_known});
    EXPECT_EQ(result.status().code(), Code::kCancelled) << result.status().message();
    return loss;
  };
  const double taught = first_loss(usual, "dense control"),
               untaught = first_loss(alone, "dense control");
  EXPECT_NE(untaught, taught);
  EXPECT_EQ(untaught, first_loss(by_control, "dense control"));
  EXPECT_NE(first_loss(usual, "smaller network"), first_loss(by_control, "smaller network"));
}

TEST_F(Shrinking, EndsWhenItIsToldTo) {
  std::atomic<bool> cancel = false;
  const auto result =
      run(options(), {.on_step = [&](const ShrinkStep&) { cancel = true; }, .cancel = &cancel});
  EXPECT_EQ(result.status().code(), Code::kCancelled);
}

TEST_F(Shrinking, RefusesWhatCannotBe) {
  ShrinkOptions tiny = options();
  tiny.target = {.macs = 0.01};
  EXPECT_EQ(run(tiny).status().code(), Code::kUnsupported);
  const auto untrained = open_model("zoo:mlp");
  const auto status = shrink({*device_, *device_}, *untrained, data_, options()).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("train it first"), std::string::npos);
  fit::JudgedData nothing_chooses = data_;
  nothing_chooses.data.held_out = std::make_shared<Rows>(0);
  EXPECT_EQ(shrink({*device_, *device_}, model_, nothing_chooses, options()).status().code(),
            Code::kInvalidArgument);
}

// A hidden unit that no answer depends on has no worth by gradients, however large its weights.
TEST_F(Shrinking, GivesUpFirstWhatTheLossDoesNotNeed) {
  const Graph network = make_network(kBatch);
  const auto groups = *compress::find_groups(network);
  const auto worth = [&] {
    auto all = worth_of(*device_, network, groups, {}, Importance::kTaylor, *data_.data.held_out,
                        options().recipe);
    EXPECT_TRUE(all.ok()) << all.status().message();
    return *std::move(all);
  };
  const std::vector<double> before = worth();
  const auto best = std::ranges::max_element(before);
  ASSERT_GT(*best, 0);
  const auto unit = static_cast<size_t>(best - before.begin());
  for (size_t i = 0; i < network.value_count(); ++i) {
    const Value& value = network[static_cast<ValueId>(i)];
    if (value.name != "fc2.weight") continue;
    Tensor weights = *value.constant;  // [4, 8], shared with the graph
    for (size_t row = 0; row < 4; ++row) weights.data<float>()[row * 8 + unit] = 0;
  }
  EXPECT_EQ(worth()[unit], 0);
}

// Two hidden layers; a unit of the first costs more.
Result<LoadedGraph> two_layers(int64_t batch) {
  SHOAL_ASSIGN(Graph graph, parse_text("input x f32[" + std::to_string(batch) + R"(,1,4,4]
const a f32[16,8] = random(1)
const b f32[8,8] = random(2)
const c f32[8,4] = random(3)
f = Flatten(x)
g = Gemm(f, a)
h = Relu(g)
i = Gemm(h, b)
j = Relu(i)
y = Gemm(j, c)
output y
)",
                                       ops::find));
  return LoadedGraph{std::move(graph), {"y"}};
}

TEST_F(Shrinking, SetsOnlyTheChangeOfTheLossAgainstCosts) {
  const Graph graph = two_layers(1)->graph;
  const auto groups = *compress::find_groups(graph);
  ASSERT_EQ(groups.groups.size(), 2u);
  ShrinkOptions shrink_options = options();
  const auto decided = [&](Importance importance) {
    shrink_options.importance = importance;
    auto decision = decide(*device_, two_layers, *data_.data.held_out, shrink_options);
    EXPECT_TRUE(decision.ok()) << decision.status().message();
    return *std::move(decision);
  };
  EXPECT_EQ(
      decided(Importance::kMagnitude).choice.rounds.back().units,
      *compress::choose(graph, groups, compress::magnitudes(graph, groups), shrink_options.target));
  const auto left =
      removed_by(graph, groups, decided(Importance::kTaylor).choice.rounds.back().units);
  ASSERT_EQ(left.size(), 2u);
  for (const GroupLeft& group : left) EXPECT_EQ(group.before, 8u);
}

// A unit of the second layer takes a hundred times as long as one of the first.
TEST_F(Shrinking, SetsTheChangeOfTheLossAgainstTime) {
  const auto groups = *compress::find_groups(two_layers(1)->graph);
  LatencyTable table;
  for (size_t g = 0; g < 2; ++g) {
    const double per_unit = g == 0 ? 0.01 : 1;
    std::vector<WidthSample> samples;
    for (int64_t width = 1; width <= 8; ++width) {
      samples.push_back({{width, 0}, per_unit * static_cast<double>(width)});
    }
    table.surfaces.push_back(WidthSurface::fit(samples, 1));
    table.steps.push_back({.value = "v", .extents = {{0, {{g, 1}}}}, .surface = g});
  }
  ShrinkOptions shrink_options = options();
  shrink_options.time = {{.share = 0.5}};
  const auto decided = [&](Importance importance) {
    shrink_options.importance = importance;
    auto decision = decide(*device_, two_layers, *data_.data.held_out, shrink_options, &table);
    EXPECT_TRUE(decision.ok()) << decision.status().message();
    return *std::move(decision);
  };
  const Decision taylor = decided(Importance::kTaylor);
  const Kept kept = kept_without(groups, taylor.choice.rounds.back().units);
  EXPECT_EQ(kept[0], 8u);
  EXPECT_LE(kept[1], 4u);
  ASSERT_TRUE(taylor.choice.before_ms);
  EXPECT_NEAR(*taylor.choice.before_ms, 8.08, 1e-3);
  EXPECT_EQ(taylor.choice.rounds.back().ms, table.ms(kept));
  EXPECT_LE(table.ms(kept), 0.5 * *taylor.choice.before_ms);
  const std::vector<double> worth = compress::magnitudes(two_layers(1)->graph, groups);
  EXPECT_EQ(
      decided(Importance::kMagnitude).choice.rounds.back().units,
      *choose_by_time(groups, worth, table, 0.5 * *taylor.choice.before_ms, {}, Order::kWorth));
}

// Counts how often examples are read.
class CountedRows : public Rows {
 public:
  using Rows::Rows;
  Result<Example> at(size_t index) const override {
    ++reads_;
    return Rows::at(index);
  }
  size_t reads() const { return reads_; }

 private:
  mutable std::atomic<size_t> reads_ = 0;  // by a thread that reads ahead
};

// The worth of what is left is that without what is gone.
TEST_F(Shrinking, LooksAgainAfterEachRound) {
  const Graph batch = two_layers(kBatch)->graph;
  const auto groups = *compress::find_groups(batch);
  const auto worth = [&](const std::vector<size_t>& gone, Round round) {
    return *worth_of(*device_, batch, groups, gone, Importance::kTaylor, *data_.data.held_out,
                     options().recipe, round);
  };
  EXPECT_NE(worth({}, {}), worth({0, 1, 2}, {}));
  EXPECT_EQ(worth({}, {}), worth({}, {}));
  const CountedRows examples(40);
  ASSERT_TRUE(decide(*device_, two_layers, examples, options()).ok());
  EXPECT_GE(examples.reads(), 5 * examples.size());  // few examples are seen in every round
}

TEST(DrawnInstead, TakesAsManyOfEachGroup) {
  compress::Groups groups;
  groups.units.resize(20);
  groups.groups = {{0, 8}, {8, 20}};
  const std::vector<size_t> units = {0, 1, 2, 9};
  std::vector<size_t> drawn = drawn_instead(groups, units, 1);
  std::ranges::sort(drawn);
  ASSERT_EQ(drawn.size(), 4u);
  EXPECT_TRUE(std::ranges::adjacent_find(drawn) == drawn.end());
  EXPECT_EQ(std::ranges::count_if(drawn, [](size_t unit) { return unit < 8; }), 3);
  EXPECT_NE(drawn_instead(groups, units, 2), drawn_instead(groups, units, 3));
}

TEST(ShrinkResult, SaysWhatItLostTo) {
  ShrinkResult result;
  result.small = {.top1 = 80, .size = {.macs = 50}, .ms = 1};
  result.dense = {.top1 = 81, .size = {.macs = 100}, .ms = 2};
  EXPECT_TRUE(result.lost_to().empty());
  EXPECT_EQ(result.front().size(), 2u);
  EXPECT_EQ(result.front()[0].top1, 80);
  result.top1_scratch = 82;
  result.top1_random = 79;
  EXPECT_EQ(result.lost_to(), std::vector<std::string>{"scratch"});
  ASSERT_EQ(result.front().size(), 1u);
  EXPECT_EQ(result.front()[0].top1, 82);
  result.missed = {{.top1 = 10, .size = {.macs = 5}, .ms = 0.5}, {.top1 = 9, .ms = 0.9}};
  EXPECT_EQ(result.front().size(), 2u);  // the second one is beaten
  result.small = result.dense;
  result.top1_scratch = result.top1_random = {};
  EXPECT_EQ(result.front().size(), 2u);  // a network that is there twice is one
}

TEST(ShrinkResult, SaysThatTheRecipeDoesHarm) {
  ShrinkResult result;
  result.top1_before = 81;
  result.dense.top1 = 80.5;
  EXPECT_FALSE(result.recipe_does_harm());
  result.dense.top1 = 10;
  EXPECT_TRUE(result.recipe_does_harm());
}

TEST(ShrinkOptions, AreChecked) {
  ShrinkOptions options{.recipe = usual_recipe()};
  EXPECT_TRUE(check(options).ok()) << check(options).message();
  EXPECT_FALSE(check({.target = {.macs = 0}, .recipe = usual_recipe()}).ok());
  EXPECT_FALSE(check({.teacher = Teacher::kNone, .recipe = usual_recipe()}).ok());
  options.recipe.patience = 2;
  EXPECT_FALSE(check(options).ok());
  options.recipe.patience = 0;
  options.device = "abacus";
  EXPECT_NE(check(options).message().find("pi4"), std::string::npos) << check(options).message();
  options.device.clear();
  options.time = {{.ms = 1, .share = 1}};
  EXPECT_FALSE(check(options).ok());
  options.target.macs = 0;  // is not read
  options.time = {{.ms = 1}};
  EXPECT_TRUE(check(options).ok()) << check(options).message();
  EXPECT_EQ(find_importance("taylor"), Importance::kTaylor);
  EXPECT_EQ(find_importance("guess"), std::nullopt);
  EXPECT_EQ(name_of(*find_teacher("control")), "control");
}

TEST(ShrinkOptions, TakeTargetsAsTexts) {
  ShrinkOptions options;
  ASSERT_TRUE(set_target("ms=0.2", options).ok());
  EXPECT_EQ(options.time, (TimeTarget{.ms = 0.2}));
  ASSERT_TRUE(set_target("ms=0.5x", options).ok());
  EXPECT_EQ(options.time, (TimeTarget{.share = 0.5}));
  ASSERT_TRUE(set_target("parameters=0.25,bytes=1e6", options).ok());
  EXPECT_FALSE(options.time);
  EXPECT_EQ(options.target.bytes, 1e6);
  for (const char* text :
       {"ms=", "ms=x", "ms=fast", "ms=0", "ms=-1", "ms=nan", "ms=inf", "ms=2x", "ms=0x", "ms=0.5xx",
        "ms", "half", "ms=1,ms=2", "ms=1,", "ms=1,macs=0"}) {
    EXPECT_EQ(set_target(text, options).code(), Code::kInvalidArgument) << text;
  }
  for (const char* text : {"ms=0.2,macs=0.5,bytes=9e3", "macs=0.5,ms=0.2,bytes=9e3"}) {
    ASSERT_TRUE(set_target(text, options).ok()) << text;
    EXPECT_EQ(options.time, (TimeTarget{.ms = 0.2, .besides = {.macs = 0.5, .bytes = 9e3}}));
  }
}

}  // namespace
}  // namespace shoal::shrink
