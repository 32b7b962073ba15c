#include "shoal/serve/engine/chooser.h"

#include <gtest/gtest.h>

namespace shoal::serve {
namespace {

using std::chrono::seconds;

// Instance A of mcdnn 3.2: a large variant for 2 J, a small one for half a joule.
ChooserOptions options(double joules) {
  schedule::Task task{.name = "faces", .requests_per_day = 100};
  task.options = {{.variant = "big", .accuracy = 0.9, .ms = 20, .joules = 2, .bytes = 100},
                  {.variant = "small", .accuracy = 0.7, .ms = 5, .joules = 0.5, .bytes = 50}};
  return {.catalog = {.fragments = {}, .tasks = {task}},
          .budgets = {.joules = joules, .bytes = 1000, .seconds = 100},
          .paging = {},
          .log = {}};
}

const Time kBegin{};

TEST(Chooser, SpendsADaysEnergyAndSaysWhy) {
  std::vector<std::string> log;
  ChooserOptions all = options(100);
  all.log = [&](const std::string& line) { log.push_back(line); };
  Chooser chooser(all, kBegin);
  ASSERT_EQ(chooser.find_task("faces"), 0u);
  EXPECT_EQ(chooser.find_task("nobody"), std::nullopt);
  double joules = 0, accuracy = 0;
  for (int i = 0; i < 100; ++i) {
    const Choice choice = chooser.choose(0, {}, kBegin + seconds(i));
    ASSERT_FALSE(choice.variant.empty()) << choice.why;
    joules += choice.variant == "big" ? 2 : 0.5;
    accuracy += choice.variant == "big" ? 0.9 : 0.7;
    EXPECT_EQ(choice.number, static_cast<uint64_t>(i + 1));
    EXPECT_EQ(log.back(), choice.why);
    EXPECT_NE(choice.why.find(choice.variant + " here: taken"), std::string::npos) << choice.why;
    if (chooser.plan_due()) chooser.plan(kBegin + seconds(i));
  }
  EXPECT_LE(joules, 100);
  EXPECT_GE(accuracy / 100, 0.99 * 0.7667);  // of the optimum
}

// What is spent is spent until the next day.
TEST(Chooser, RefusesUntilTheNextDay) {
  Chooser chooser(options(0.6), kBegin);
  EXPECT_EQ(chooser.choose(0, {}, kBegin + seconds(1)).variant, "small");
  const Choice refused = chooser.choose(0, {}, kBegin + seconds(40));
  EXPECT_EQ(refused.variant, "");
  EXPECT_EQ(refused.retry_after, seconds(60));
  EXPECT_EQ(chooser.choose(0, {}, kBegin + seconds(250)).variant, "small");
  const Choice again = chooser.choose(0, {}, kBegin + seconds(251));
  EXPECT_EQ(again.variant, "");
  EXPECT_EQ(again.retry_after, seconds(49));
}

TEST(Chooser, HeedsWishes) {
  Chooser chooser(options(1000), kBegin);
  EXPECT_EQ(chooser.choose(0, {}, kBegin).variant, "big");
  EXPECT_EQ(chooser.choose(0, {.latency_ms = 10}, kBegin).variant, "small");
  EXPECT_EQ(chooser.choose(0, {.accuracy = 0.8}, kBegin).variant, "big");
  const Choice impossible = chooser.choose(0, {.accuracy = 0.95}, kBegin);
  EXPECT_EQ(impossible.variant, "");
  EXPECT_EQ(impossible.retry_after, std::nullopt);
  EXPECT_NE(impossible.why.find("big here: too rough"), std::string::npos) << impossible.why;
}

// In the cloud the large one takes little energy, but costs money.
TEST(Chooser, AsksElsewhereWhileThatIsReachedAndGivesMoneyBack) {
  ChooserOptions all = options(60);
  all.budgets.dollars = 100;
  all.catalog.tasks[0].options.push_back({.variant = "big",
                                          .place = schedule::Place::kCloud,
                                          .accuracy = 0.95,
                                          .ms = 50,
                                          .joules = 0.1,
                                          .dollars = 0.1});
  Chooser chooser(all, kBegin);
  const Choice away = chooser.choose(0, {}, kBegin, {.cloud = true});
  EXPECT_EQ(away.variant, "big");
  EXPECT_EQ(away.place, schedule::Place::kCloud);
  EXPECT_EQ(away.decision.dollars_left, 99.9);
  chooser.give_back(away);
  EXPECT_NE(chooser.print().find("\"dollars_left\":100,"), std::string::npos) << chooser.print();
  const Choice here = chooser.choose(0, {}, kBegin, {});
  EXPECT_EQ(here.place, schedule::Place::kHere);
  EXPECT_NE(here.why.find("big cloud: no link"), std::string::npos) << here.why;
  // What it takes is learned: it is too slow for this wish at first, and no longer then.
  const Wish quick{.latency_ms = 30};
  EXPECT_EQ(chooser.choose(0, quick, kBegin, {.cloud = true}).place, schedule::Place::kHere);
  for (int i = 0; i < 20; ++i) chooser.note_time(away, 15);
  EXPECT_EQ(chooser.choose(0, quick, kBegin, {.cloud = true}).place, schedule::Place::kCloud);
}

// A network for classes 3 and 5 is used while these are seen, and unloaded with the general one
// that it needs.
TEST(Chooser, UsesASpecialNetworkWhileItsClassesAreSeen) {
  ChooserOptions all = options(60);
  all.special.watch = {.most = 3, .memory = 10, .seconds = 0};
  all.special.pause = 0;
  schedule::Option special{
      .variant = "special", .accuracy = 0.92, .ms = 2, .joules = 0.1, .bytes = 150};
  special.fallback = schedule::Fallback{.share = 0.1, .accuracy = 0.9, .ms = 20, .joules = 2};
  all.catalog.tasks[0].options.push_back(special);
  all.specials = {{.id = {0, 2},
                   .network = {.classes = {3, 5}, .threshold = 0.5},
                   .general = "big",
                   .classes = 10}};
  Chooser chooser(all, kBegin);
  ASSERT_TRUE(chooser.watches(0));
  const auto say = [&](size_t answer, int count) {
    std::vector<std::string> unloaded;
    for (int i = 0; i < count; ++i) {
      for (auto& model : chooser.note_class(0, answer, kBegin)) unloaded.push_back(model);
    }
    return unloaded;
  };
  EXPECT_EQ(chooser.choose(0, {}, kBegin).special, nullptr);
  EXPECT_TRUE(say(4, 20).empty());  // no network is for this class
  EXPECT_EQ(chooser.choose(0, {}, kBegin).special, nullptr);
  EXPECT_NE(chooser.print().find("no variant is for these"), std::string::npos);
  EXPECT_TRUE(say(3, 40).empty());
  const Choice choice = chooser.choose(0, {}, kBegin);
  EXPECT_EQ(choice.variant, "special") << choice.why;
  ASSERT_NE(choice.special, nullptr);
  EXPECT_EQ(choice.special->general, "big");
  const auto left = [&](const std::string& text) { return text.substr(0, text.find("dollars")); };
  const std::string before = left(chooser.print());
  chooser.settle(choice, false);  // the general one was not needed
  EXPECT_NE(left(chooser.print()), before);
  const std::vector<std::string> both{"faces.special", "faces.big"};
  EXPECT_EQ(say(8, 20), both);
  EXPECT_EQ(chooser.choose(0, {}, kBegin).special, nullptr);
}

TEST(Chooser, KeepsToMemory) {
  ChooserOptions all = options(1000);
  all.budgets.bytes = 120;
  all.catalog.tasks.push_back(all.catalog.tasks[0]);
  all.catalog.tasks[1].name = "places";
  Chooser chooser(all, kBegin);
  EXPECT_EQ(variant_model("faces", chooser.choose(0, {.accuracy = 0.8}, kBegin).variant),
            "faces.big");
  const Choice other = chooser.choose(1, {.accuracy = 0.8}, kBegin + seconds(1));
  EXPECT_EQ(other.variant, "big");
  EXPECT_EQ(other.evicted, std::vector<std::string>{"faces.big"});
  EXPECT_NE(chooser.print().find("\"bytes_used\":100,"), std::string::npos) << chooser.print();
}

}  // namespace
}  // namespace shoal::serve
