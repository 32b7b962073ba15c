// The page about training: SVG curves, a table of confusions, pictures of mistakes as SVG
// rectangles.

#include "shoal/report/pages/training_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shoal/base/text/number_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/report/html/markup.h"
#include "shoal/report/html/page.h"

namespace shoal::report {
namespace {

using fit::EpochResult;
using fit::TrainingProgress;

std::string curves(const TrainingProgress& progress) {
  const auto plot = [&](const char* title, double EpochResult::*learned,
                        double EpochResult::*held_out) {
    std::vector<page::Curve> both = {{"learned from", {}}, {"held out", {}}};
    for (const EpochResult& epoch : progress.results) {
      both[0].points.push_back(epoch.*learned);
      both[1].points.push_back(epoch.*held_out);
    }
    return page::plot(title, "epochs", both);
  };
  return page::card(
      "Epochs", "<div class=\"plots\">\n" +
                    plot("loss", &EpochResult::loss, &EpochResult::held_out_loss) +
                    plot("top-1, %", &EpochResult::top1, &EpochResult::held_out_top1) + "</div>\n");
}

// Rows are labels, columns answers; a thousand classes would be a page of nothing.
std::string confusions(const fit::Evaluation& evaluation) {
  constexpr size_t kMostClasses = 40;
  const size_t classes = evaluation.classes();
  if (classes > kMostClasses) return "";
  std::string rows = "<tr><th scope=\"col\">label \\ answer</th>";
  for (size_t c = 0; c < classes; ++c) rows += "<th scope=\"col\">" + std::to_string(c) + "</th>";
  for (size_t label = 0; label < classes; ++label) {
    size_t total = 0;
    for (size_t c = 0; c < classes; ++c) total += evaluation.confusions(label, c);
    rows += "</tr>\n<tr><th scope=\"row\">" + std::to_string(label) + "</th>";
    for (size_t c = 0; c < classes; ++c) {
      const size_t count = evaluation.confusions(label, c);
      const double share =
          static_cast<double>(count) / static_cast<double>(std::max<size_t>(total, 1));
      rows += page::heat_cell(std::to_string(count), std::sqrt(share),
                              c == label ? page::Heat::kGood : page::Heat::kBad);
    }
  }
  return page::card("Confusions", page::table("Confusions", rows + "</tr>\n", "matrix"));
}

// An image as rectangles, so that no format needs to be encoded: runs of one colour in a row are
// one. Large images are thinned out.
std::string picture(const Tensor& image) {
  constexpr int64_t kMostPixels = 48;
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  const int64_t step = (std::max(h, w) + kMostPixels - 1) / kMostPixels;
  const auto colour = [&](int64_t y, int64_t x) {
    const uint8_t* pixel = image.data<uint8_t>().data() + (y * w + x) * c;
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", pixel[0], pixel[c == 3 ? 1 : 0],
                  pixel[c == 3 ? 2 : 0]);
    return std::string(text);
  };
  std::string svg = "<svg aria-hidden=\"true\" shape-rendering=\"crispEdges\" viewBox=\"0 0 " +
                    std::to_string(w) + " " + std::to_string(h) + "\">";
  for (int64_t y = 0; y < h; y += step) {
    for (int64_t x = 0; x < w;) {
      const std::string own = colour(y, x);
      int64_t end = x + step;
      while (end < w && colour(y, end) == own) end += step;
      svg += "<path fill=\"" + own + "\" d=\"M" + std::to_string(x) + " " + std::to_string(y) +
             "h" + std::to_string(end - x) + "v" + std::to_string(step) + "h-" +
             std::to_string(end - x) + "\"/>";
      x = end;
    }
  }
  return svg + "</svg>";
}

std::string mistakes(const fit::EpochReport& report) {
  std::string text;
  for (const fit::Mistake& mistake : report.evaluation.mistakes()) {
    const auto example = report.held_out.at(mistake.example);
    if (!example.ok()) continue;
    text += "<figure>" + picture(example->image) + "<figcaption>" + std::to_string(mistake.label) +
            " taken for " + std::to_string(mistake.answer) + ", " +
            fixed(100 * mistake.probability, 1) + " %</figcaption></figure>\n";
  }
  if (text.empty()) return text;
  return page::card("Mistakes it is sure of", "<div class=\"pictures\">\n" + text + "</div>\n");
}

using learn::RunRecord;
using page::TimeCurve;
using Moment = RunRecord::Moment;

std::string ms(double seconds) { return fixed(1e3 * seconds, 1); }

std::string short_name(const RunRecord& record, int worker) {
  constexpr size_t kMost = 14;
  const auto found = record.devices.find(worker);
  return found == record.devices.end() ? std::to_string(worker)
                                       : printable(found->second.name, kMost);
}

double seconds_of(const RunRecord& record) { return record.moments.back().seconds; }

TimeCurve curve_of(const RunRecord& record, std::string name, double Moment::*value, double times) {
  TimeCurve curve{std::move(name), {}, {}};
  for (const Moment& moment : record.moments) {
    curve.seconds.push_back(moment.seconds);
    curve.values.push_back(times * moment.*value);
  }
  return curve;
}

TimeCurve level(const RunRecord& record, std::string name, double value) {
  return {std::move(name), {0, seconds_of(record)}, {value, value}};
}

std::string learned(const RunRecord& record) {
  const std::vector<TimeCurve> loss = {curve_of(record, "learned from", &Moment::loss, 1)};
  TimeCurve held_out{"held out", {}, {}};
  for (const RunRecord::Accuracy& one : record.accuracies) {
    held_out.seconds.push_back(one.seconds);
    held_out.values.push_back(one.top1);
  }
  std::string plots = page::time_plot("loss", loss, page::Scale::kFitting);
  if (held_out.values.size() > 1) {
    plots += page::time_plot("top-1, %", std::vector{held_out}, page::Scale::kFitting);
  }
  return page::card("What was learned", "<div class=\"plots\">\n" + plots + "</div>\n");
}

std::string steps(const RunRecord& record) {
  std::vector<TimeCurve> times = {curve_of(record, "measured", &Moment::step_seconds, 1e3)};
  if (record.predicted_seconds > 0) {
    times.push_back(level(record, "predicted", 1e3 * record.predicted_seconds));
  }
  if (record.single_seconds > 0) {
    times.push_back(level(record, "one device alone", 1e3 * record.single_seconds));
  }
  const std::vector<TimeCurve> bytes = {
      curve_of(record, "per worker and direction", &Moment::bytes, 1e-3)};
  return page::card("Steps", "<div class=\"plots\">\n" +
                                 page::time_plot("a step, ms", times, page::Scale::kFromZero) +
                                 page::time_plot("a step, kB", bytes, page::Scale::kFromZero) +
                                 "</div>\n");
}

std::string shares(const RunRecord& record) {
  std::vector<TimeCurve> parts;
  for (const auto& [worker, device] : record.devices) {
    TimeCurve& part = parts.emplace_back();
    part.name = short_name(record, worker);
    for (const Moment& moment : record.moments) {
      const auto found = moment.shares.find(worker);
      part.seconds.push_back(moment.seconds);
      part.values.push_back(found == moment.shares.end() ? 0 : found->second);
    }
  }
  return parts.empty() ? "" : page::share_plot("share of the examples of a step", parts);
}

std::string presence(const RunRecord& record) {
  using Kind = RunRecord::Event::Kind;
  std::vector<page::Presence> all;
  for (const auto& [worker, device] : record.devices) {
    page::Presence& one = all.emplace_back();
    one.name = short_name(record, worker);
    std::optional<double> since = 0;
    for (const RunRecord::Event& event : record.events) {
      if (event.worker != worker) continue;
      if (event.kind == Kind::kLost && since && event.seconds > *since) {
        one.spans.emplace_back(*since, event.seconds);
      }
      since = event.kind == Kind::kLost ? std::nullopt : std::optional(event.seconds);
    }
    if (since) one.spans.emplace_back(*since, seconds_of(record));
  }
  return all.empty() ? "" : page::presence_plot("who was there", all, seconds_of(record));
}

std::string devices(const RunRecord& record) {
  std::string rows = page::header_row(learn::device_header());
  for (const auto& [worker, device] : record.devices) {
    rows += page::row(learn::device_cells(record, device));
  }
  return page::table("Devices at the end", rows);
}

// The fastest worker alone exchanges nothing.
std::string comparison(const RunRecord& record) {
  std::string rows =
      page::header_row({"", "a step, ms", "examples/s", "s for all steps", "speed-up"});
  const auto count = static_cast<double>(record.moments.back().step);
  const auto add = [&](const std::string& name, double seconds) {
    if (seconds <= 0) return;
    rows += page::row({name, ms(seconds), fixed(static_cast<double>(record.batch) / seconds, 0),
                       fixed(count * seconds, 1), fixed(record.single_seconds / seconds, 2)});
  };
  add("one device alone", record.single_seconds);
  add("together, predicted", record.predicted_seconds);
  add("together, measured", record.step_seconds);
  return page::card("Beside one device", page::table("Beside one device", rows));
}

std::string events(const RunRecord& record) {
  constexpr size_t kMost = 100;
  std::string rows = page::header_row({"device", "step", "time", "what"});
  for (size_t i = 0; i < std::min(kMost, record.events.size()); ++i) {
    const RunRecord::Event& event = record.events[i];
    rows += page::row({short_name(record, event.worker), std::to_string(event.step),
                       in_seconds(event.seconds),
                       event.kind == RunRecord::Event::Kind::kLost ? "lost" : "there again"});
  }
  if (record.events.empty()) return page::card("Who was lost", "<p>Nobody.</p>\n");
  std::string text = page::table("Who was lost", rows);
  if (record.events.size() > kMost) text += "<p class=\"soft\">The first of them only.</p>\n";
  return page::card("Who was lost", text);
}

std::string figures(const RunRecord& record) {
  std::vector<page::Figure> all = {
      {"steps", record.moments.empty() ? "0" : with_commas(record.moments.back().step)}};
  const auto add = [&](bool known, page::Figure figure) {
    if (known) all.push_back(std::move(figure));
  };
  if (!record.accuracies.empty()) {
    all.push_back({"held out: top-1", fixed(record.accuracies.back().top1, 2), "%"});
  }
  add(record.step_seconds > 0, {"a step", ms(record.step_seconds), "ms"});
  add(record.predicted_seconds > 0, {"predicted", ms(record.predicted_seconds), "ms"});
  add(record.step_seconds > 0 && record.single_seconds > 0,
      {"speed-up", fixed(record.single_seconds / record.step_seconds, 2), "x"});
  const bool is_large = record.bytes >= 1e6;
  add(record.bytes > 0,
      {"a step sends", fixed(record.bytes / (is_large ? 1e6 : 1e3), 1), is_large ? "MB" : "kB"});
  all.push_back({"codec", record.codec});
  return page::figures(all);
}

}  // namespace

std::string training_page(const std::string& title, const fit::EpochReport& report) {
  const TrainingProgress& progress = report.progress;
  std::string body = page::figures({{"epochs", std::to_string(progress.results.size())},
                                    {"time", fixed(progress.seconds, 0), "s"},
                                    {"held out: top-1", fixed(report.evaluation.top1(), 2), "%"},
                                    {"held out: loss", fixed(report.evaluation.loss(), 4)}});
  if (!progress.results.empty()) body += curves(progress);
  body += confusions(report.evaluation) + mistakes(report);
  return page::html_page(title, body);
}

std::string cluster_training_title(const std::string& model, const std::string& data,
                                   size_t devices) {
  return model + " on " + data + ", by " + std::to_string(devices) +
         (devices == 1 ? " device" : " devices");
}

std::string cluster_training_page(const std::string& title, const RunRecord& record) {
  std::string body = figures(record);
  if (!record.moments.empty()) {
    body += learned(record) + steps(record) +
            page::card("Who did what", "<div class=\"plots\">\n" + shares(record) +
                                           presence(record) + "</div>\n" + devices(record)) +
            comparison(record) + events(record);
  }
  return page::html_page(title, body);
}

}  // namespace shoal::report
