// Pictures of plans: well-formed, whatever names a model has, and nothing is left out.
#include "shoal/report/pages/plan_page.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/device_presets.h"

namespace shoal::report {
namespace {

constexpr std::string_view kHostile = "</title><script>\"&\x01\xff";

// Four layers, with names that no picture may take literally.
Graph layers() {
  Graph graph;
  ValueId x = graph.add_input(std::string(kHostile) + " x", {DType::kF32, {1, 4, 64, 64}});
  for (int i = 0; i < 4; ++i) x = *graph.add(ops::relu, {x});
  graph.mark_output(x);
  return graph;
}

plan::ClusterProfile cluster() {
  plan::ClusterProfile made =
      plan::uniform_cluster(3, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  made.workers[0].name = kHostile;
  return made;
}

plan::Comparison planned() {
  return *plan::compare_plans(layers(), cluster(), {.cuts = {plan::Cut::kRows}, .forced = true});
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// What is wrong with the elements of an SVG, or nothing.
std::string fault_of(std::string_view svg) {
  std::vector<std::string> open;
  while (!svg.empty()) {
    const size_t begin = svg.find('<');
    const std::string_view text = svg.substr(0, begin);
    if (text.find_first_of(">\"") != text.npos) return "text: " + std::string(text);
    if (begin == svg.npos) break;
    const size_t end = svg.find('>', begin);
    if (end == svg.npos) return "an open tag";
    std::string_view tag = svg.substr(begin + 1, end - begin - 1);
    svg.remove_prefix(end + 1);
    if (std::ranges::count(tag, '"') % 2 != 0) return "quotes: " + std::string(tag);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "end of " + std::string(tag);
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() ? "" : "no end of " + open.back();
}

void expect_well_formed(const std::string& svg) {
  EXPECT_EQ(fault_of(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(svg.find_first_of("\x01\xff"), svg.npos);
  EXPECT_EQ(svg.find("<script>"), svg.npos);
  EXPECT_NE(svg.find("&lt;/title&gt;&lt;script&gt;&quot;&amp;"), svg.npos);
}

// Each task is a bar, and each transfer one at its sender and one at its receiver.
size_t bars_of(const plan::ScheduledPlan& scheduled) {
  size_t bars = 2 * scheduled.schedule().transfers.size();
  for (const plan::Segment& segment : scheduled.plan().segments) bars += segment.tasks.size();
  return bars;
}

TEST(FaultOf, FindsFaults) {
  EXPECT_EQ(fault_of("<a><b c=\"d\"/>e</a>\n"), "");
  EXPECT_NE(fault_of("<a><b></a></b>"), "");
  EXPECT_NE(fault_of("<a>"), "");
  EXPECT_NE(fault_of("<a b=\"c></a>"), "");
  EXPECT_NE(fault_of("<a>x > y</a>"), "");
}

TEST(PlanPicture, IsWellFormedWhateverNamesThereAre) {
  expect_well_formed(plan_picture(std::string(kHostile), planned()));
}

TEST(PlanPicture, HasABarForEveryTaskAndTwoForEveryTransfer) {
  const plan::Comparison made = planned();
  const std::string svg = plan_picture(std::string(kHostile), made);
  const size_t bars = bars_of(made.best().scheduled);
  EXPECT_GT(bars, 6u);
  EXPECT_EQ(count(svg, "<title>"), bars);
  EXPECT_EQ(count(svg, "<rect "), bars + 1) << "and one behind them";
}

TEST(PlanPicture, LeavesOutWhatNobodyWaitedFor) {
  plan::Comparison made = planned();
  const size_t before = count(plan_picture(std::string(kHostile), made), "<title>");
  made.plans[0].timeline.transfers[0] = {-1, -1};
  EXPECT_EQ(count(plan_picture(std::string(kHostile), made), "<title>"), before - 2);
}

TEST(PlanPicture, OfAPageHasThePlanAndTheAdvice) {
  const plan::Comparison made = planned();
  const std::string page = plan_page(std::string(kHostile), made);
  EXPECT_EQ(count(page, "<rect "), bars_of(made.best().scheduled));
  EXPECT_NE(page.find("<p>" + advice_text(made) + "</p>"), page.npos);
  EXPECT_NE(page.find(">nodes 0.."), page.npos);
  EXPECT_EQ(page.find("<script>"), page.npos);
}

TEST(PlanPicture, OfAStreamShowsEveryRequest) {
  const auto made = *plan::compare_streams(layers(), cluster(), {.replicas = false});
  const std::string svg = plan_picture(std::string(kHostile), made);
  expect_well_formed(svg);
  for (int request = 0; request < 8; ++request) {
    EXPECT_NE(svg.find("<title>request " + std::to_string(request) + ", "), svg.npos) << request;
  }
  EXPECT_EQ(svg.find("<title>request 8, "), svg.npos);
}

}  // namespace
}  // namespace shoal::report
