// The text form of a regularizer, as it is given on the command line.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "shoal/base/text/glob.h"
#include "shoal/train/step/optimizer/regularizer.h"

namespace shoal::train {
namespace {

using Penalty = Regularizer::Penalty;
using Groups = Regularizer::Groups;

constexpr std::array kPenalties = {std::pair{std::string_view("lasso"), Penalty::kLasso},
                                   std::pair{std::string_view("square"), Penalty::kSquare},
                                   std::pair{std::string_view("hoyer"), Penalty::kHoyer}};
constexpr std::array kGroups = {std::pair{std::string_view("elements"), Groups::kElements},
                                std::pair{std::string_view("filters"), Groups::kFilters},
                                std::pair{std::string_view("rows"), Groups::kFilters},
                                std::pair{std::string_view("channels"), Groups::kChannels},
                                std::pair{std::string_view("columns"), Groups::kColumns},
                                std::pair{std::string_view("blocks"), Groups::kBlocks}};

// "clusters4". A number of 64 is more than workers that gain from it.
bool is_clusters(std::string_view word, Regularizer& result) {
  constexpr std::string_view kClusters = "clusters";
  constexpr int64_t kMost = 64;
  if (!word.starts_with(kClusters)) return false;
  word.remove_prefix(kClusters.size());
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, result.clusters);
  result.groups = Groups::kClusters;
  return error == std::errc() && end == last && result.clusters >= 2 && result.clusters <= kMost;
}

// The text up to the first ':'. The word and the colon are removed from `text`.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(':'));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

template <class Table, class Value>
bool find(const Table& table, std::string_view name, Value& value) {
  for (const auto& [known, meaning] : table) {
    if (known != name) continue;
    value = meaning;
    return true;
  }
  return false;
}

}  // namespace

Result<Regularizer> parse_regularizer(std::string_view text) {
  Regularizer result;
  std::string_view rest = text;
  bool known = find(kPenalties, take_word(rest), result.penalty);
  const std::string_view groups = take_word(rest);
  known = known && (find(kGroups, groups, result.groups) || is_clusters(groups, result));
  // Unlike strtod(), this reads the same in every locale.
  const std::string_view strength = take_word(rest);
  const char* const last = strength.data() + strength.size();
  const auto [end, error] = std::from_chars(strength.data(), last, result.strength);
  const bool is_number = error == std::errc() && end == last && std::isfinite(result.strength);
  if (!known || !is_number || result.strength < 0) {
    return invalid("no penalty: " + std::string(text) + "; should be lasso:filters:1e-4");
  }
  if (!rest.empty()) {
    result.applies = [pattern = std::string(rest)](std::string_view name) {
      return matches_any(std::span(&pattern, 1), name);
    };
  }
  return result;
}

}  // namespace shoal::train
