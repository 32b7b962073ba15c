// Paths as Triton has them, cut at slashes. Names of models are compared with
// those that are served and go nowhere else.
#include "shoal/serve/protocol/call.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shoal::serve {
namespace {

// The parts of a path; one slash at its end says nothing.
std::vector<std::string_view> parts_of(std::string_view path) {
  constexpr size_t kMost = 8;  // more than any path has
  std::vector<std::string_view> parts;
  if (!path.starts_with('/')) return parts;
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty() && parts.size() < kMost) {
    const size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

using Parts = std::vector<std::string_view>;

std::optional<CallKind> find_verb(std::string_view verb) {
  constexpr std::array<std::pair<std::string_view, CallKind>, 5> kVerbs = {
      {{"infer", CallKind::kInfer},
       {"ready", CallKind::kModelReady},
       {"config", CallKind::kModelConfig},
       {"stats", CallKind::kModelStatistics},
       {"classify", CallKind::kClassify}}};
  const auto it = std::ranges::find(kVerbs, verb, &std::pair<std::string_view, CallKind>::first);
  if (it == kVerbs.end()) return std::nullopt;
  return it->second;
}

// NAME[/versions/VERSION][/VERB], or "stats" alone.
std::optional<Call> parse_model_call(Parts parts) {
  if (parts.empty() || parts[0].empty()) return std::nullopt;
  if (parts.size() == 1 && parts[0] == "stats") return Call{CallKind::kModelStatistics, {}, {}, {}};
  Call call{CallKind::kModelMetadata, std::string(parts[0]), {}, {}};
  parts.erase(parts.begin());
  if (parts.size() >= 2 && parts[0] == "versions") {
    call.version = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (parts.empty()) return call;
  const auto kind = find_verb(parts[0]);
  if (!kind || parts.size() > 1) return std::nullopt;
  call.kind = *kind;
  return call;
}

// index, or models/NAME/load and unload.
std::optional<Call> parse_repository_call(const Parts& parts) {
  if (parts.size() == 1 && parts[0] == "index") return Call{CallKind::kIndex, {}, {}, {}};
  if (parts.size() != 3 || parts[0] != "models" || parts[1].empty()) return std::nullopt;
  if (parts[2] == "load") return Call{CallKind::kLoad, std::string(parts[1]), {}, {}};
  if (parts[2] == "unload") return Call{CallKind::kUnload, std::string(parts[1]), {}, {}};
  return std::nullopt;
}

constexpr std::string_view kPageFiles = "/page/";

std::optional<Call> parse_path(std::string_view path) {
  if (path == "/") return Call{};
  if (path.starts_with(kPageFiles)) {
    return Call{CallKind::kPage, {}, {}, {}, std::string(path.substr(kPageFiles.size()))};
  }
  if (path == "/metrics") return Call{CallKind::kMetrics, {}, {}, {}};
  const Parts parts = parts_of(path);
  if (parts.empty() || parts[0] != "v2") return std::nullopt;
  if (parts.size() == 1) return Call{CallKind::kServerMetadata, {}, {}, {}};
  const Parts rest(parts.begin() + 2, parts.end());
  if (parts[1] == "models") return parse_model_call(rest);
  if (parts[1] == "repository") return parse_repository_call(rest);
  if (parts[1] != "health" || rest.size() != 1) return std::nullopt;
  if (rest[0] == "live") return Call{CallKind::kLive, {}, {}, {}};
  if (rest[0] == "ready") return Call{CallKind::kReady, {}, {}, {}};
  return std::nullopt;
}

}  // namespace

std::optional<Call> parse_call(std::string_view target) {
  const size_t question = std::min(target.find('?'), target.size());
  std::optional<Call> call = parse_path(target.substr(0, question));
  if (call) call->query = target.substr(std::min(question + 1, target.size()));
  return call;
}

std::string_view method_of(CallKind kind) {
  switch (kind) {
    case CallKind::kInfer:
    case CallKind::kClassify:
    case CallKind::kIndex:
    case CallKind::kLoad:
    case CallKind::kUnload:
      return "POST";
    default:
      return "GET";
  }
}

std::optional<std::string_view> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) {
      return one.substr(name.size() + 1);
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

}  // namespace shoal::serve
