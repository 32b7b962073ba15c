#include "shoal/video/query/index.h"

#include <algorithm>
#include <limits>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/engine/run/scores.h"

namespace shoal::query {
namespace {

constexpr std::string_view kFormat = "shoal-query-1";

Status corrupt(const std::string& what) { return {Code::kCorrupt, "index: " + what}; }

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

Result<ExitAnswer> parse_answer(JsonText& json) {
  std::vector<double> pair;
  SHOAL_TRY(json.numbers(pair));
  constexpr double kMost = 1e9;
  if (pair.size() != 2 || !(pair[0] >= 0 && pair[0] < kMost) || !(pair[1] >= 0 && pair[1] <= 1)) {
    return corrupt("no class and probability of an exit");
  }
  return ExitAnswer{static_cast<int64_t>(pair[0]), pair[1]};
}

Result<Cluster> parse_cluster(JsonText& json) {
  Cluster cluster;
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key == "label") return json.number(cluster.label);
    if (key == "first") return json.number(cluster.first);
    if (key == "frames") {
      return json.list([&] { return json.number(cluster.frames.emplace_back()); });
    }
    if (key != "exits") return corrupt("a cluster has a member " + printable(key));
    return json.list([&]() -> Status {
      SHOAL_ASSIGN(const ExitAnswer answer, parse_answer(json));
      cluster.exits.push_back(answer);
      return {};
    });
  }));
  return cluster;
}

// The invariants of an index.
Status check(const Index& index) {
  if (index.frames < 0 || index.classes < 0) return corrupt("a negative size");
  const auto positive = [](double threshold) { return threshold > 0; };
  if (!std::ranges::all_of(index.thresholds, positive)) return corrupt("no threshold");
  for (const Cluster& cluster : index.clusters) {
    const bool label = cluster.label >= 0 && cluster.label < index.classes;
    const bool ascending =
        std::ranges::adjacent_find(cluster.frames, std::greater_equal()) == cluster.frames.end();
    if (!label || cluster.frames.empty() || !ascending || cluster.frames.front() < 0 ||
        cluster.frames.back() >= index.frames || cluster.first != cluster.frames.front() ||
        cluster.exits.size() != index.clusters.front().exits.size()) {
      return corrupt("a cluster is not one");
    }
  }
  return {};
}

}  // namespace

std::vector<int64_t> labels_of(const ExitScores& scores, const LabelConfig& config) {
  std::vector<int64_t> labels;
  for (size_t j = config.first; j < std::min(config.first + config.exits, scores.size()); ++j) {
    for (const fit::RankedClass& ranked_class : fit::top_classes(scores[j], config.k)) {
      labels.push_back(static_cast<int64_t>(ranked_class.index));
    }
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

LabelFigures figures_of(std::span<const Example> examples, const LabelConfig& config) {
  LabelFigures figures{.config = config};
  size_t found = 0;
  for (const Example& example : examples) {
    const std::vector<int64_t> labels = labels_of(example.scores, config);
    figures.entries += labels.size();
    found += std::ranges::binary_search(labels, example.label) ? 1 : 0;
  }
  if (!examples.empty()) {
    figures.recall = static_cast<double>(found) / static_cast<double>(examples.size());
  }
  return figures;
}

std::optional<LabelFigures> choose_labels(std::span<const Example> examples, LabelChoice choice,
                                          double recall, size_t most_k) {
  std::optional<LabelFigures> best;
  if (examples.empty()) return best;
  const size_t exits = examples[0].scores.size();
  for (size_t j = 0; j < exits; ++j) {
    for (size_t k = 1; k <= most_k; ++k) {
      const LabelConfig config = choice == LabelChoice::kPrefixes
                                     ? LabelConfig{.k = k, .first = 0, .exits = j + 1}
                                     : LabelConfig{.k = k, .first = j, .exits = 1};
      const LabelFigures figures = figures_of(examples, config);
      if (figures.recall < recall || (best && figures.entries >= best->entries)) continue;
      best = figures;
    }
  }
  return best;
}

std::vector<ExitAnswer> answers_of(const ExitScores& scores) {
  std::vector<ExitAnswer> answers;
  for (const std::vector<float>& exit : scores) {
    const auto best = fit::top_classes(exit, 1);
    if (best.empty()) continue;
    answers.push_back(
        {static_cast<int64_t>(best[0].index), std::clamp(best[0].probability, 0.0, 1.0)});
  }
  return answers;
}

void Indexer::add(int64_t frame, std::span<const int64_t> labels, std::span<const float> features,
                  const std::vector<ExitAnswer>& exits) {
  for (const int64_t label : labels) {
    ++entries_;
    std::vector<Open>& all = open_[label];
    Open* nearest = nullptr;
    double least = options_.distance;
    for (Open& open : all) {
      const double away = squared_distance(open.mean, features);
      if (!(away <= least)) continue;
      least = away;
      nearest = &open;
    }
    if (nearest == nullptr) {
      if (all.size() >= std::max<size_t>(options_.open, 1)) {
        all.erase(std::ranges::min_element(all, {}, &Open::joined));
      }
      clusters_.push_back({.label = label, .first = frame, .exits = exits});
      all.push_back({clusters_.size() - 1, {features.begin(), features.end()}, 0});
      nearest = &all.back();
    }
    nearest->joined = entries_;
    nearest->count += 1;
    for (size_t i = 0; i < features.size(); ++i) {
      nearest->mean[i] += static_cast<float>((features[i] - nearest->mean[i]) / nearest->count);
    }
    std::vector<int64_t>& frames = clusters_[nearest->cluster].frames;
    if (frames.empty() || frames.back() != frame) frames.push_back(frame);
  }
}

std::string to_text(const Index& index) {
  std::string text = "{\"format\": " + json_text(kFormat) +
                     ", \"source\": " + json_text(index.source) +
                     ", \"frames\": " + std::to_string(index.frames) +
                     ", \"classes\": " + std::to_string(index.classes) + ", \"thresholds\": [";
  for (size_t i = 0; i < index.thresholds.size(); ++i) {
    text += (i > 0 ? "," : "") + json_number(index.thresholds[i]);
  }
  text += "], \"clusters\": [";
  for (size_t i = 0; i < index.clusters.size(); ++i) {
    const Cluster& cluster = index.clusters[i];
    text += (i > 0 ? ",\n" : "\n") + std::string("{\"label\": ") + std::to_string(cluster.label) +
            ", \"first\": " + std::to_string(cluster.first) + ", \"frames\": [";
    for (size_t k = 0; k < cluster.frames.size(); ++k) {
      text += (k > 0 ? "," : "") + std::to_string(cluster.frames[k]);
    }
    text += "], \"exits\": [";
    for (size_t k = 0; k < cluster.exits.size(); ++k) {
      text += (k > 0 ? ",[" : "[") + std::to_string(cluster.exits[k].label) + "," +
              json_number(cluster.exits[k].probability) + "]";
    }
    text += "]}";
  }
  return text + "]}\n";
}

Result<Index> parse_index(std::string_view text) {
  JsonText json(text, "index");
  Index index;
  std::string format;
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key == "frames") return json.number(index.frames);
    if (key == "classes") return json.number(index.classes);
    if (key == "thresholds") return json.numbers(index.thresholds);
    if (key == "clusters") {
      return json.list([&]() -> Status {
        SHOAL_ASSIGN(Cluster cluster, parse_cluster(json));
        index.clusters.push_back(std::move(cluster));
        return {};
      });
    }
    if (key != "format" && key != "source") return corrupt("a member " + printable(key));
    SHOAL_ASSIGN((key == "format" ? format : index.source), json.text());
    return {};
  }));
  SHOAL_TRY(json.end());
  if (format != kFormat) return corrupt("the format is not " + std::string(kFormat));
  SHOAL_TRY(check(index));
  return index;
}

Status save(const Index& index, const std::filesystem::path& file) {
  return write_file(file, to_text(index));
}

Result<Index> load_index(const std::filesystem::path& file) {
  SHOAL_ASSIGN(const auto mapped, MappedFile::open(file));
  const auto bytes = mapped->bytes();
  auto parsed = parse_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed.ok()) return parsed.status().at(file.string());
  return parsed;
}

}  // namespace shoal::query
