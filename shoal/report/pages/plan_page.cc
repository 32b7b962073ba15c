// The picture of a plan as SVG: two bars per machine, one rectangle per task and transfer. Names
// come from models and files, and are escaped.
#include "shoal/report/pages/plan_page.h"

#include <algorithm>
#include <array>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/report/html/markup.h"
#include "shoal/report/html/page.h"

namespace shoal::report {
namespace {

using page::escaped;
using plan::kCoordinator;
using plan::Prediction;
using plan::Span;

constexpr double kLeft = 130, kWidth = 860, kRight = 50, kTop = 56, kLane = 16, kGap = 14;
constexpr std::array kColours = {"f1", "f2", "f3", "f4", "f5", "f6"};
constexpr const char* kSends = "f7";
constexpr const char* kReceives = "f8";

// A request on its way through a plan.
struct RequestTimes {
  plan::ScheduledPlan scheduled;
  const plan::Timeline& timeline;
};

// One request or several. Colours tell apart the segments of one, or the requests.
class Picture {
 public:
  Picture(std::string title, const Graph& graph, const plan::ClusterProfile& cluster,
          std::vector<RequestTimes> requests)
      : title_(std::move(title)),
        graph_(graph),
        cluster_(cluster),
        requests_(std::move(requests)) {}

  std::string as_file() {
    draw();
    return page::picture_file(kLeft + kWidth + kRight, bottom(), text_);
  }
  std::string in_page() {
    draw();
    return page::picture(title_, kLeft + kWidth + kRight, bottom(), text_);
  }

 private:
  void draw() {
    for (const RequestTimes& times : requests_)
      seconds_ = std::max(seconds_, times.timeline.seconds);
    add_axis();
    add_machine(kCoordinator, "coordinator");
    for (size_t w = 0; w < cluster_.workers.size(); ++w) {
      add_machine(static_cast<int>(w), cluster_.workers[w].name);
    }
  }

  bool is_stream() const { return requests_.size() > 1; }
  double x(double time) const { return kLeft + kWidth * time / seconds_; }
  double y(int machine) const { return kTop + (machine + 1) * (2 * kLane + kGap); }
  double bottom() const { return y(static_cast<int>(cluster_.workers.size())); }

  void add_label(double at_x, double at_y, const std::string& label, const char* more = "") {
    text_ += page::svg_text(at_x, at_y, label, more);
  }

  void add_bar(Span span, double top, const char* colour, const std::string& title) {
    text_ += page::svg_bar(x(span.begin), top, std::max(x(span.end) - x(span.begin), 0.5),
                           kLane - 2, colour,
                           title + ": " + fixed(1e3 * (span.end - span.begin), 2) + " ms at " +
                               fixed(1e3 * span.begin, 2) + " ms");
  }

  // Time runs to the right, with a line for about every tenth.
  void add_axis() {
    add_label(kLeft, 16, title_);
    add_label(kLeft, 33,
              std::string("upper bar: computes (a colour per ") +
                  (is_stream() ? "request" : "segment") +
                  "); lower bar: sends (red), receives (brown)",
              " class=\"soft\"");
    const double step = page::scale_step(seconds_);
    for (double time = 0; time <= seconds_; time += step) {
      text_ += "<path class=\"grid\" d=\"M" + fixed(x(time), 2) + " " + fixed(kTop - 4, 2) + "V" +
               fixed(bottom(), 2) + "\"/>\n";
      add_label(x(time) + 2, kTop - 6, fixed(1e3 * time, step < 1e-3 ? 2 : 0) + " ms",
                " class=\"soft\"");
    }
  }

  void add_machine(int machine, const std::string& name) {
    add_label(8, y(machine) + kLane, name);
    for (size_t r = 0; r < requests_.size(); ++r) {
      add_tasks(machine, r);
      add_transfers(machine, r);
    }
  }

  void add_tasks(int machine, size_t request) {
    const RequestTimes& times = requests_[request];
    const auto& segments = times.scheduled.plan().segments;
    for (size_t s = 0; s < segments.size(); ++s) {
      for (size_t t = 0; t < segments[s].tasks.size(); ++t) {
        if (segments[s].tasks[t].worker != machine) continue;
        const char* colour = kColours[(is_stream() ? request : s) % kColours.size()];
        add_bar(times.timeline.tasks[s][t], y(machine), colour,
                name_of(request) + title_of(segments[s]));
      }
    }
  }

  void add_transfers(int machine, size_t request) {
    const RequestTimes& times = requests_[request];
    for (size_t i = 0; i < times.scheduled.schedule().transfers.size(); ++i) {
      const plan::Transfer& transfer = times.scheduled.schedule().transfers[i];
      const bool sends = transfer.from == machine;
      if (!sends && transfer.to != machine) continue;
      if (times.timeline.transfers[i].end < 0) continue;  // it was not awaited
      add_bar(times.timeline.transfers[i], y(machine) + kLane, sends ? kSends : kReceives,
              name_of(request) + title_of(transfer));
    }
  }

  std::string name_of(size_t request) const {
    return is_stream() ? "request " + std::to_string(request) + ", " : "";
  }

  std::string title_of(const plan::Segment& segment) const {
    const auto nodes = graph_.nodes();
    return place_of(graph_, nodes[segment.nodes.begin]) + " to " +
           place_of(graph_, nodes[segment.nodes.end - 1]) + ", " + segment.split;
  }
  std::string title_of(const plan::Transfer& transfer) const {
    const auto name = [&](int machine) {
      return machine == kCoordinator ? "coordinator"
                                     : cluster_.workers[static_cast<size_t>(machine)].name;
    };
    return graph_[transfer.piece.value].name + " from " + name(transfer.from) + " to " +
           name(transfer.to) + ", " + in_bytes(bytes_of(graph_, transfer.piece));
  }

  const std::string title_;
  const Graph& graph_;
  const plan::ClusterProfile& cluster_;
  const std::vector<RequestTimes> requests_;
  double seconds_ = 1e-9;
  std::string text_;
};

std::string whole_page(const std::string& model, const std::vector<page::Figure>& figures,
                       const std::string& picture, const std::string& advice,
                       const std::string& others, const std::string& plan) {
  return page::html_page(
      model,
      page::figures(figures) + page::card("Who does what when", picture) +
          page::card("Why this plan", "<p>" + escaped(advice) + "</p>\n" +
                                          (others.empty() ? "" : "<ul>\n" + others + "</ul>\n")) +
          page::card("The plan", page::preformatted(plan)));
}

std::string list_item(const std::string& name, double ms, const std::string& why) {
  return "<li>" + escaped(name) + ", " + fixed(ms, 1) + " ms: " + escaped(why) + "</li>\n";
}

Picture picture_of(const std::string& model, const plan::Comparison& planned) {
  const Prediction& best = planned.best();
  return Picture(model + ": " + best.name + ", " + fixed(1e3 * best.timeline.seconds, 1) + " ms, " +
                     fixed(planned.speedup(), 2) + " times as fast as one worker",
                 best.graph(), planned.cluster, {{best.scheduled, best.timeline}});
}

// The first few requests of a stream.
struct StreamTimes {
  std::vector<plan::Timeline> timelines;

  explicit StreamTimes(const plan::StreamComparison& planned) {
    // So many that every turn is seen twice, and the workers fill up and empty again.
    constexpr size_t kFewest = 8, kMost = 32;
    const plan::StreamPrediction& best = planned.best();
    const size_t requests = std::clamp(2 * best.turns.size(), kFewest, kMost);
    timelines = simulate_requests(best.turns, planned.cluster, requests, best.in_flight);
  }

  // REQUIRES: it outlives the picture.
  Picture picture_of(const std::string& model, const plan::StreamComparison& planned) const {
    const plan::StreamPrediction& best = planned.best();
    std::vector<RequestTimes> times;
    for (size_t r = 0; r < timelines.size(); ++r) {
      times.push_back({best.turns[r % best.turns.size()], timelines[r]});
    }
    return Picture(model + ": " + best.name + ", an answer every " +
                       fixed(1e3 * period_of(best).seconds, 1) + " ms, " +
                       fixed(planned.speedup(), 2) +
                       " times as often as from one worker; the first " +
                       std::to_string(timelines.size()) + " requests",
                   best.graph(), planned.cluster, std::move(times));
  }
};

}  // namespace

std::string plan_picture(const std::string& model, const plan::Comparison& planned) {
  return picture_of(model, planned).as_file();
}

std::string plan_picture(const std::string& model, const plan::StreamComparison& planned) {
  return StreamTimes(planned).picture_of(model, planned).as_file();
}

std::string plan_picture_in_page(const std::string& title, const std::vector<std::string>& workers,
                                 const plan::Prediction& made) {
  plan::ClusterProfile named;  // the picture needs the names only
  for (const std::string& name : workers) named.workers.push_back(plan::absent_worker(name));
  return Picture(title, made.graph(), named, {{made.scheduled, made.timeline}}).in_page();
}

std::string plan_page(const std::string& model, const plan::Comparison& planned) {
  const Prediction& best = planned.best();
  std::string others;
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    const Prediction& other = planned.plans[i];
    others += list_item(other.name, 1e3 * other.timeline.seconds, why_slower(planned, other));
  }
  return whole_page(model,
                    {{"split", best.name},
                     {"a request", fixed(1e3 * best.timeline.seconds, 1), "ms"},
                     {"against one worker", fixed(planned.speedup(), 2), "x as fast"},
                     {"workers", std::to_string(planned.cluster.workers.size())}},
                    picture_of(model, planned).in_page(), advice_text(planned), others,
                    to_text(best.graph(), best.plan()));
}

std::string plan_page(const std::string& model, const plan::StreamComparison& planned) {
  const plan::StreamPrediction& best = planned.best();
  std::string others;
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    const plan::StreamPrediction& other = planned.plans[i];
    others += list_item(other.name, 1e3 * period_of(other).seconds, why_slower(other));
  }
  return whole_page(model,
                    {{"split", best.name},
                     {"an answer every", fixed(1e3 * period_of(best).seconds, 1), "ms"},
                     {"against one worker", fixed(planned.speedup(), 2), "x as often"},
                     {"workers", std::to_string(planned.cluster.workers.size())}},
                    StreamTimes(planned).picture_of(model, planned).in_page(), advice_text(planned),
                    others, to_text(best));
}

}  // namespace shoal::report
