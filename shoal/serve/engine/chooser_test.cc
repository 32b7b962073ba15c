#include "shoal/serve/engine/chooser.h"

#include <gtest/gtest.h>

namespace shoal::serve {
namespace {

using std::chrono::seconds;

// Instance A of [Han 2016]: a large variant for 2 J, a small one for half a joule.
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
      const ClassAdvice advice = chooser.note_class(0, answer, kBegin);
      unloaded.insert(unloaded.end(), advice.unloaded.begin(), advice.unloaded.end());
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

// Three days in virtual time: classes 1 and 2 are seen, later 7 and 8. Networks are made while
// others answer, used, and given up when the classes change.
TEST(Chooser, HasNetworksMadeForWhatIsSeenAndGivesThemUp) {
  ChooserOptions all = options(1e6);
  all.budgets.seconds = 1000;
  all.special = {.watch = {.most = 3, .memory = 50, .seconds = 20}, .pause = 30};
  all.makes = {{.task = 0, .general = "big", .classes = 10}};
  std::string log;
  all.log = [&](const std::string& line) { log += line + "\n"; };
  Chooser chooser(all, kBegin);
  EXPECT_EQ(chooser.print().find(kMadeVariant), std::string::npos);
  const auto made_for = [](const std::vector<size_t>& classes, double falls) {
    MadeSpecial special;
    special.option = {.variant = "x", .accuracy = 0.93, .ms = 2, .joules = 0.2, .bytes = 110};
    special.option.fallback =
        schedule::Fallback{.share = falls, .accuracy = 0.9, .ms = 20, .joules = 2};
    for (const size_t one : classes) special.network.classes.push_back(int64_t(one));
    return special;
  };
  struct Making {
    int ready;  // when
    std::vector<size_t> classes;
  };
  std::optional<Making> making;
  std::vector<int> asked, used, given_up;
  size_t by_special = 0;
  for (int i = 0; i < 3000; ++i) {
    const Time now = kBegin + seconds(i);
    const size_t seen = (i < 1500 ? 1 : 7) + size_t(i % 2);
    if (making && i == making->ready) {
      // The first is of no use: it hardly answers. Then one cannot be made.
      if (asked.size() == 1) {
        EXPECT_FALSE(chooser.made(0, made_for(making->classes, 0.95), now));
      } else if (asked.size() == 2) {
        chooser.not_made(0, Status(Code::kExhausted, "no memory"), now);
      } else {
        EXPECT_TRUE(chooser.made(0, made_for(making->classes, 0.05), now));
        used.push_back(i);
      }
      making.reset();
    }
    const Choice choice = chooser.choose(0, {}, now);
    ASSERT_FALSE(choice.variant.empty()) << choice.why;
    bool fell = false;
    if (choice.special != nullptr) {
      ++by_special;
      EXPECT_FALSE(making.has_value()) << "it is used while it is made";
      const auto& own = choice.special->network.classes;
      fell = std::ranges::find(own, int64_t(seen)) == own.end();
      chooser.settle(choice, fell);
    }
    const ClassAdvice advice = chooser.note_class(0, seen, now);
    if (!advice.make.empty()) {
      EXPECT_FALSE(making.has_value());
      asked.push_back(i);
      making = Making{i + 10, advice.make};
    }
    for (const std::string& model : advice.unloaded) {
      if (model == variant_model("faces", kMadeVariant)) given_up.push_back(i);
    }
    if (chooser.plan_due()) chooser.plan(now);
  }
  ASSERT_EQ(asked.size(), 4U);  // of no use, not made, made, made for others
  EXPECT_GE(asked[1], asked[0] + 10 + 30) << "there is a pause";
  EXPECT_GE(asked[2], asked[1] + 10 + 30);
  ASSERT_EQ(used.size(), 2U);
  ASSERT_EQ(given_up.size(), 1U);
  EXPECT_GT(given_up[0], 1500);
  EXPECT_LT(given_up[0], 1600);
  EXPECT_GT(used[1], given_up[0]);
  EXPECT_GT(by_special, 2000U);
  EXPECT_NE(chooser.print().find("\"name\":\"special.now\""), std::string::npos);
  for (const char* line :
       {"7,8 are ", "a network for them is being made", "the network that was made is in use"}) {
    EXPECT_NE(log.find(line), std::string::npos) << line;
  }
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
