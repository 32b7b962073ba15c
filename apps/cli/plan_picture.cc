#include "plan_picture.h"

#include <array>
#include <cmath>

#include "table.h"

namespace shoal::cli {
namespace {

using plan::kCoordinator;
using plan::Prediction;
using plan::Span;

constexpr double kLeft = 130, kWidth = 1000, kRight = 60, kTop = 56, kLane = 16, kGap = 14;
constexpr std::array kColours = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2"};
constexpr const char* kSends = "#e15759";
constexpr const char* kReceives = "#9c755f";

std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string number(double x) { return fixed(x, 2); }

class Picture {
 public:
  explicit Picture(const Planned& planned) : planned_(planned), best_(planned.best()) {}

  std::string draw() {
    add_axis();
    add_machine(kCoordinator, "coordinator");
    for (size_t w = 0; w < planned_.cluster.workers.size(); ++w) {
      add_machine(static_cast<int>(w), planned_.cluster.workers[w].name);
    }
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(kLeft + kWidth + kRight) +
           "\" height=\"" + number(bottom()) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
           "fill=\"white\"/>\n" +
           text_ + "</svg>\n";
  }

 private:
  double seconds() const { return std::max(best_.timeline.seconds, 1e-9); }
  double x(double time) const { return kLeft + kWidth * time / seconds(); }
  double y(int machine) const { return kTop + (machine + 1) * (2 * kLane + kGap); }
  double bottom() const { return y(static_cast<int>(planned_.cluster.workers.size())); }

  void add_label(double at_x, double at_y, const std::string& label, const char* more = "") {
    text_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\"" + more + ">" +
             escaped(label) + "</text>\n";
  }

  void add_bar(Span span, double top, const char* colour, const std::string& title) {
    text_ += "<rect x=\"" + number(x(span.begin)) + "\" y=\"" + number(top) + "\" width=\"" +
             number(std::max(x(span.end) - x(span.begin), 0.5)) + "\" height=\"" +
             number(kLane - 2) + "\" fill=\"" + colour + "\"><title>" + escaped(title) + ": " +
             fixed(1e3 * (span.end - span.begin), 2) + " ms at " + fixed(1e3 * span.begin, 2) +
             " ms</title></rect>\n";
  }

  // Time runs to the right, with a line for about every tenth.
  void add_axis() {
    add_label(kLeft, 16,
              planned_.model + ": " + best_.name + ", " + fixed(1e3 * best_.timeline.seconds, 1) +
                  " ms, " + fixed(planned_.speedup(), 2) + " times as fast as one worker");
    add_label(kLeft, 32,
              "upper bar: computes (a colour per segment); lower bar: sends (red), "
              "receives (brown)");
    const double power = std::pow(10, std::floor(std::log10(seconds() / 5)));
    const double step = seconds() / 5 > 5 * power   ? 5 * power
                        : seconds() / 5 > 2 * power ? 2 * power
                                                    : power;
    for (double time = 0; time <= seconds(); time += step) {
      text_ += "<line x1=\"" + number(x(time)) + "\" x2=\"" + number(x(time)) + "\" y1=\"" +
               number(kTop - 4) + "\" y2=\"" + number(bottom()) + "\" stroke=\"#ddd\"/>\n";
      add_label(x(time) + 2, kTop - 6, fixed(1e3 * time, step < 1e-3 ? 2 : 0) + " ms",
                " fill=\"#777\"");
    }
  }

  void add_machine(int machine, const std::string& name) {
    add_label(8, y(machine) + kLane, name);
    const auto& segments = best_.plan.segments;
    for (size_t s = 0; s < segments.size(); ++s) {
      for (size_t t = 0; t < segments[s].tasks.size(); ++t) {
        if (segments[s].tasks[t].worker != machine) continue;
        add_bar(best_.timeline.tasks[s][t], y(machine), kColours[s % kColours.size()],
                title_of(segments[s]));
      }
    }
    for (size_t i = 0; i < best_.schedule.transfers.size(); ++i) {
      const plan::Transfer& transfer = best_.schedule.transfers[i];
      const bool sends = transfer.from == machine;
      if (!sends && transfer.to != machine) continue;
      add_bar(best_.timeline.transfers[i], y(machine) + kLane, sends ? kSends : kReceives,
              title_of(transfer));
    }
  }

  std::string title_of(const plan::Segment& segment) const {
    const auto nodes = best_.graph.nodes();
    return place_of(best_.graph, nodes[segment.nodes.begin]) + " to " +
           place_of(best_.graph, nodes[segment.nodes.end - 1]) + ", " + segment.split;
  }
  std::string title_of(const plan::Transfer& transfer) const {
    const auto name = [&](int machine) {
      return machine == kCoordinator ? "coordinator"
                                     : planned_.cluster.workers[static_cast<size_t>(machine)].name;
    };
    return best_.graph[transfer.piece.value].name + " from " + name(transfer.from) + " to " +
           name(transfer.to) + ", " + in_bytes(bytes_of(best_.graph, transfer.piece));
  }

  const Planned& planned_;
  const Prediction& best_;
  std::string text_;
};

}  // namespace

std::string to_svg(const Planned& planned) { return Picture(planned).draw(); }

std::string to_html(const Planned& planned) {
  std::string others;
  for (size_t i = 1; i < std::min<size_t>(planned.plans.size(), 3); ++i) {
    const Prediction& other = planned.plans[i];
    others += "<li>" + escaped(other.name) + ", " + fixed(1e3 * other.timeline.seconds, 1) +
              " ms: " + escaped(why_slower(planned, other)) + "</li>\n";
  }
  return "<!doctype html>\n<meta charset=\"utf-8\">\n<title>" + escaped(planned.model) +
         "</title>\n<body style=\"font-family: sans-serif\">\n" + to_svg(planned) + "<p>" +
         escaped(advice(planned)) + "</p>\n<ul>\n" + others + "</ul>\n<pre>" +
         escaped(to_text(planned.best().graph, planned.best().plan)) + "</pre>\n</body>\n";
}

}  // namespace shoal::cli
