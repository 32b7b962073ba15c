// Triton's paths, cut at slashes. Names of models are only compared with the served ones.
#include "shoal/serve/protocol/call.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shoal::serve {
namespace {

using enum CallKind;

// The first that matches counts. After NAME, "/versions/VERSION" may stand in each path of a model.
constexpr std::array kRoutes = {
    Route{.path = "/", .kind = kPage, .needs_key = false},
    Route{.path = "/page/NAME", .kind = kPage, .needs_key = false},
    Route{.path = "/metrics", .kind = kMetrics},
    Route{.path = "/v2", .kind = kServerMetadata},
    Route{.path = "/v2/health/live", .kind = kLive, .needs_key = false},
    Route{.path = "/v2/health/ready", .kind = kReady, .needs_key = false},
    Route{.path = "/v2/models/stats", .kind = kModelStatistics},
    Route{.path = "/v2/models/NAME", .kind = kModelMetadata},
    Route{.path = "/v2/models/NAME/ready", .kind = kModelReady},
    Route{.path = "/v2/models/NAME/config", .kind = kModelConfig},
    Route{.path = "/v2/models/NAME/stats", .kind = kModelStatistics},
    Route{.path = "/v2/models/NAME/infer", .kind = kInfer, .method = "POST"},
    Route{.path = "/v2/models/NAME/classify", .kind = kClassify, .method = "POST"},
    Route{.path = "/v2/catalog", .kind = kCatalog},
    Route{.path = "/v2/devices", .kind = kDevices},
    Route{.path = "/v2/plans/NAME", .kind = kPlan},
    Route{.path = "/v2/repository/index", .kind = kIndex, .method = "POST"},
    Route{.path = "/v2/repository/models/NAME/load",
          .kind = kLoad,
          .method = "POST",
          .changes = true},
    Route{.path = "/v2/repository/models/NAME/unload",
          .kind = kUnload,
          .method = "POST",
          .changes = true},
};

using Parts = std::vector<std::string_view>;

// The parts of a path; one slash at its end says nothing.
Parts parts_of(std::string_view path) {
  constexpr size_t kMost = 8;  // more than any path has
  Parts parts;
  path.remove_prefix(1);
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty() && parts.size() < kMost) {
    const size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// The name in place of NAME, empty if the route has none. nullopt: another path.
std::optional<std::string_view> match(const Route& route, const Parts& parts) {
  std::string_view rest = route.path, name;
  for (const std::string_view part : parts) {
    if (rest.size() <= 1) return std::nullopt;
    rest.remove_prefix(1);
    const std::string_view wanted = rest.substr(0, rest.find('/'));
    rest.remove_prefix(wanted.size());
    const bool is_name = wanted == "NAME";
    if (is_name ? part.empty() : part != wanted) return std::nullopt;
    if (is_name) name = part;
  }
  if (rest.size() > 1) return std::nullopt;
  return name;
}

std::optional<Call> parse_path(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  Parts parts = parts_of(path);
  std::string_view version;
  if (parts.size() >= 5 && parts[1] == "models" && parts[3] == "versions") {
    version = parts[4];
    parts.erase(parts.begin() + 3, parts.begin() + 5);
  }
  for (const Route& route : kRoutes) {
    const auto name = match(route, parts);
    if (!name) continue;
    if (route.kind == kPage) return Call{.kind = kPage, .file = std::string(*name)};
    return Call{route.kind, std::string(*name), std::string(version), {}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Call> parse_call(std::string_view target) {
  const size_t question = std::min(target.find('?'), target.size());
  std::optional<Call> call = parse_path(target.substr(0, question));
  if (call) call->query = target.substr(std::min(question + 1, target.size()));
  return call;
}

const Route& route_of(CallKind kind) { return *std::ranges::find(kRoutes, kind, &Route::kind); }

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
