// Tables and two pictures in SVG: bars of the widths of groups, and points of the networks by cost
// and accuracy. Names come from models, and are escaped.
#include "shoal/report/pages/shrink_page.h"

#include <algorithm>
#include <string>
#include <vector>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/markup.h"
#include "shoal/report/html/page.h"

namespace shoal::report {
namespace {

using page::card;
using page::escaped;
using page::header_row;
using page::svg_bar;
using page::svg_text;
using shrink::Figures;
using shrink::GroupLeft;
using shrink::ShrinkResult;

constexpr double kLabels = 260, kWidth = 480, kLane = 18;

std::string in_percent(double x) { return fixed(x, 2) + " %"; }

std::string row(const std::string& name, double top1, const Figures& figures) {
  return page::row({name, in_percent(top1), with_commas(figures.size.macs),
                    with_commas(figures.size.parameters), figures.ms ? fixed(*figures.ms, 4) : ""});
}

std::string networks(const ShrinkResult& result) {
  std::string rows = header_row({"network", "top-1", "multiply-accumulates", "parameters", "ms"}) +
                     row("smaller", result.small.top1, result.small);
  for (const Figures& one : result.missed) rows += row("lost too much", one.top1, one);
  rows += row("dense control", result.dense.top1, result.dense);
  if (result.top1_scratch) rows += row("from scratch", *result.top1_scratch, result.small);
  if (result.top1_random) rows += row("random removal", *result.top1_random, result.small);
  std::string text =
      page::table("Networks", rows) +
      "<p>Top-1 on the test examples, which chose nothing: " + in_percent(result.top1_before) +
      " as given, " + in_percent(result.top1_removed) +
      " after the removal, before it learned again. On the examples that chose: " +
      in_percent(result.held_out_top1) + ", the dense control " +
      in_percent(result.held_out_top1_control) + ".";
  if (result.int8) {
    text += " In 8 bits (" + in_percent(result.int8->top1_real) + " before):";
    for (const std::string& note : result.int8->notes) text += " " + escaped(note) + ";";
    text += " " + std::to_string(result.int8->left.size()) + " products stay real.";
  }
  if (result.ms_predicted && result.ms_predicted_before) {
    text += " Predicted: " + fixed(*result.ms_predicted, 4) + " ms, " +
            fixed(*result.ms_predicted_before, 4) + " ms before.";
  }
  for (const std::string& control : result.lost_to()) {
    text += " <b>The control '" + escaped(control) + "' is better: the removal gained nothing.</b>";
  }
  return card("Networks", text + "</p>\n");
}

std::string name_of(const GroupLeft& group) {
  return group.weights + ", axis " + std::to_string(group.axis);
}

// A pale bar of the width before, and on it a dark one of the width after.
std::string widths(const std::vector<GroupLeft>& groups) {
  size_t widest = 1;
  for (const GroupLeft& group : groups) widest = std::max(widest, group.before);
  std::string bars;
  double y = 0;
  const auto bar = [&](size_t units, const char* colour) {
    const double length = kWidth * static_cast<double>(units) / static_cast<double>(widest);
    return svg_bar(kLabels, y + 2, length, kLane - 4, colour);
  };
  for (const GroupLeft& group : groups) {
    bars += "<g><title>" + escaped(name_of(group)) + "</title>\n" +
            svg_text(kLabels - 6, y + 13, name_of(group), " text-anchor=\"end\"") +
            bar(group.before, "track") + bar(group.left, "f1") +
            svg_text(kLabels + kWidth + 6, y + 13,
                     std::to_string(group.left) + " of " + std::to_string(group.before)) +
            "</g>\n";
    y += kLane;
  }
  return card(
      "Widths before and after",
      "<p>Groups that lost units, each under the first weights that it has slices of.</p>\n" +
          page::picture("Widths before and after", kLabels + kWidth + 90, y, bars));
}

std::string refused(const std::vector<shrink::RefusedAxis>& axes) {
  if (axes.empty()) return "";
  std::string rows = header_row({"weights", "axis", "indices", "why"});
  for (const auto& axis : axes) {
    rows += page::row(
        {axis.weights, std::to_string(axis.axis), std::to_string(axis.indices), axis.reason});
  }
  return card("What could not be removed", page::table("What could not be removed", rows));
}

// All networks by cost and accuracy, those of the front in dark.
std::string front(const ShrinkResult& result) {
  const std::vector<Figures> best = result.front();
  const bool timed = result.small.ms && result.dense.ms;
  const auto cost = [&](const Figures& one) {
    return timed ? *one.ms : static_cast<double>(one.size.macs) / 1e6;
  };
  std::vector<Figures> all = {result.small, result.dense};
  all.insert(all.end(), result.missed.begin(), result.missed.end());
  for (const auto& control : {result.top1_scratch, result.top1_random}) {
    if (!control) continue;
    all.push_back(result.small);
    all.back().top1 = *control;
  }
  std::vector<page::CostPoint> points;
  for (const Figures& one : all) {
    const bool leads = std::ranges::any_of(best, [&](const Figures& other) {
      return other.top1 == one.top1 && cost(other) == cost(one);
    });
    points.push_back({.cost = cost(one), .top1 = one.top1, .on_front = leads});
  }
  std::string rows = header_row({"top-1", "multiply-accumulates", "ms"});
  for (const Figures& one : best) {
    rows += page::row(
        {in_percent(one.top1), with_commas(one.size.macs), one.ms ? fixed(*one.ms, 4) : ""});
  }
  return card("Front",
              "<p>The networks that no other one beats in both cost and accuracy, in blue.</p>\n" +
                  page::front_picture(points, timed ? "ms" : "M multiply-accumulates") +
                  page::table("Front", rows));
}

// A row per group, a column per share, darker where more is lost.
std::string sensitivity(const shrink::Sensitivity& all) {
  std::vector<std::string> head = {"units of", "there are"};
  for (int share = 10; share < 100; share += 10) head.push_back(std::to_string(share) + " %");
  std::string rows = header_row(head);
  for (const shrink::GroupSensitivity& group : all.groups) {
    rows += "<tr><td>" + escaped(group.weights + ", axis " + std::to_string(group.axis)) +
            "</td><td>" + std::to_string(group.units) + "</td>";
    for (double top1 : group.top1) {
      const double lost = 1 - top1 / std::max(all.top1, 1e-9);
      rows += page::heat_cell(fixed(top1, 1), lost, page::Heat::kBad);
    }
    rows += "</tr>\n";
  }
  return card("Sensitivity",
              "<p>Top-1 of the network as given once this share of one group is gone, before "
              "anything learns again, on " +
                  std::to_string(all.examples) + " held-out examples; " + in_percent(all.top1) +
                  " with all.</p>\n" + page::table("Sensitivity", rows, "matrix"));
}

std::string times_fewer(int64_t before, int64_t now) {
  return fixed(static_cast<double>(before) / static_cast<double>(std::max<int64_t>(now, 1)), 2);
}

}  // namespace

std::string shrink_page(const std::string& title, const ShrinkResult& result,
                        const std::string& json, const std::string& recipe) {
  std::vector<page::Figure> figures = {
      {"multiply-accumulates", times_fewer(result.dense.size.macs, result.small.size.macs),
       "x fewer"},
      {"parameters", times_fewer(result.dense.size.parameters, result.small.size.parameters),
       "x fewer"}};
  if (result.small.ms && result.dense.ms) {
    figures.push_back(
        {"time", fixed(*result.dense.ms / std::max(*result.small.ms, 1e-9), 2), "x faster"});
  }
  figures.push_back({"top-1 against the dense control",
                     fixed(result.small.top1 - result.dense.top1, 2), "points"});
  const std::string took = std::to_string(result.epochs) + " epochs each, " +
                           fixed(result.seconds, 0) + " s in all, " +
                           fixed(result.choosing_seconds, 1) + " s of them to decide what goes.";
  return page::html_page(title, page::figures(figures) + "<p class=\"soft\">" + took + "</p>\n" +
                                    networks(result) + widths(result.removed) + front(result) +
                                    (result.sensitivity ? sensitivity(*result.sensitivity) : "") +
                                    refused(result.refused) +
                                    card("Recipe", page::preformatted(recipe)) +
                                    card("Numbers", page::preformatted(json)));
}

}  // namespace shoal::report
