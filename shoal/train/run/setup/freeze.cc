#include "shoal/train/run/setup/freeze.h"

#include <algorithm>

#include "shoal/train/step/graph/step_graph.h"

namespace shoal::fit {
namespace {

// A shell pattern that matches this name alone.
std::string literal(const std::string& name) {
  std::string pattern;
  for (char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

std::vector<std::string> all_but(const Graph& network, const std::vector<std::string>& learned) {
  std::vector<std::string> patterns;
  for (ValueId id : train::learned_values(network)) {
    if (std::ranges::find(learned, network[id].name) != learned.end()) continue;
    patterns.push_back(literal(network[id].name));
  }
  return patterns;
}

}  // namespace shoal::fit
