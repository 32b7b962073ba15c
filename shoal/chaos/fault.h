// Faults: what can go wrong, in simulated clusters and in real ones.
#pragma once

#include <cstdint>

namespace shoal::chaos {

enum class Fault : uint8_t {
  kKill,       // as by kill -9; it is started again later
  kStop,       // as by SIGSTOP, and SIGCONT later
  kSlow,       // ten times as slow
  kDeaf,       // what is sent to it does not arrive
  kMute,       // what it sends does not arrive
  kPartition,  // neither
  kFlapping,   // neither, on and off
  kDelay,      // everything takes long
  kDrop,       // a connection breaks
  kCorrupt,    // what arrives is no frame: the connection is closed
};
inline constexpr int kFaults = 10;

}  // namespace shoal::chaos
