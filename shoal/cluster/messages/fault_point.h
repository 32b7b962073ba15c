// FaultPoint: moments of a request, and of a deployment, at which fault injection can hold a
// machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

namespace shoal::cluster {

enum class FaultPoint : uint8_t {
  kSubmitted,      // no input has left yet
  kInputArrives,   // at a worker
  kPieceArrives,   // at a worker, from another
  kComputing,      // a worker has all that a task needs, or enough to decode it
  kComputed,       // its outputs are about to leave, or on their way
  kAnswerArrives,  // at the coordinator, a part of it from a worker
  kDeploying,      // a worker is given a plan, for the first time or once more
  kReady,          // and has said that it has it
};
inline constexpr int kFaultPoints = 8;

// By number.
inline constexpr std::array<std::string_view, kFaultPoints> kFaultPointNames = {
    "submitted", "input-arrives",  "piece-arrives", "computing",
    "computed",  "answer-arrives", "deploying",     "ready"};

// Called on the thread that reaches a point, which goes on when it returns. May be empty.
using FaultHook = std::function<void(FaultPoint)>;

}  // namespace shoal::cluster
