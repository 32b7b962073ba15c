// Call: the meaning of a request's path.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shoal::serve {

enum class CallKind {
  kPage,  // or one of its files
  kMetrics,
  kLive,
  kReady,
  kServerMetadata,
  kModelMetadata,
  kModelReady,
  kModelConfig,
  kModelStatistics,  // of one model, or of all
  kInfer,
  kClassify,
  kCatalog,  // variants, budgets, decisions
  kDevices,  // and links and plans
  kPlan,     // its picture
  kIndex,
  kLoad,
  kUnload,
};

// A path, and its access rules. Paths of one kind differ in nothing else.
struct Route {
  std::string_view path;  // NAME stands for a model's, a file's or a plan's
  CallKind kind = CallKind::kPage;
  std::string_view method = "GET";
  bool needs_key = true;  // where the server has keys
  bool changes = false;   // the server: pages of others must not ask for it
};

struct Call {
  CallKind kind = CallKind::kPage;
  std::string model = {};    // empty: none, or all
  std::string version = {};  // empty: any
  std::string query = {};    // after '?'
  std::string file = {};     // of the page; empty: the page itself
};

// By the target of an HTTP request. nullopt if there is no such path.
std::optional<Call> parse_call(std::string_view target);
const Route& route_of(CallKind kind);

// The value of a parameter of the query: "5" of "top" in "a=b&top=5". nullopt if absent.
std::optional<std::string_view> query_value(std::string_view query, std::string_view name);

}  // namespace shoal::serve
