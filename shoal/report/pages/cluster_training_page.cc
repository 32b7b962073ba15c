#include "shoal/report/pages/cluster_training_page.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/report/html/markup.h"
#include "shoal/report/html/page.h"

namespace shoal::report {
namespace {

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
