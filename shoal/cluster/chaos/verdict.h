// Verdict: whether a run under faults kept its invariants, and if not, what was wrong.
#pragma once

#include <cstdint>
#include <string>

namespace shoal::chaos {

struct Verdict {
  enum class Kind : uint8_t {
    kKept,    // all promises
    kWrong,   // an answer, a weight or a history is not what it should be
    kFailed,  // a request has no answer
  };

  Kind kind = Kind::kKept;
  std::string why = {};  // empty: all was kept

  static Verdict wrong(std::string why) { return {Kind::kWrong, std::move(why)}; }
  static Verdict failed(std::string why) { return {Kind::kFailed, std::move(why)}; }
  // For histories: names the seed of the first that broke an invariant; -1: none did.
  static Verdict of_histories(int64_t first_bad_seed, const std::string& violation) {
    if (first_bad_seed < 0) return {};
    return wrong("seed " + std::to_string(first_bad_seed) + ": " + violation);
  }
};

}  // namespace shoal::chaos
