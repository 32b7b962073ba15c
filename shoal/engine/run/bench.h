// Bench: measures how fast a model runs on a device.
//
//   SHOAL_ASSIGN(const fit::BenchWork work, fit::work_of(session, inputs, device));
//   const auto run = [&] { return session.run(inputs).status(); };
//   SHOAL_ASSIGN(const auto times, time_runs(seconds, run));
//   print(fit::facts_of({.model = name, .work = work}, times));
#pragma once

#include <functional>
#include <istream>
#include <string>

#include "shoal/base/text/facts.h"
#include "shoal/base/timing/closed_loop.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/session.h"

namespace shoal::fit {

struct BenchWork {
  double macs = 0;             // of a run; 0: not counted
  Json json = Json::object();  // other facts
};
// The work of a model, which it runs several times. Fails as the session and the device do.
Result<BenchWork> work_of(Session& session, const Session::Tensors& inputs, Device& device);

// Facts of a bench known before it measures.
struct BenchFacts {
  std::string model;
  DeviceInfo device = {};
  double open_ms = 0, first_ms = 0;  // until all was ready, and until the first answer
  BenchWork work = {};
};
Facts facts_of(const BenchFacts& known, const LatencyRecorder& times);

// The same of several clients that share a session.
Facts facts_of(const std::string& model, const DeviceInfo& device, size_t clients,
               const LoadReport& load);

// Noise by other programs and changing clocks: by what share the median exceeds the fastest tenth.
double noise_of(const LatencyRecorder& times);
// A warning of noise, in one line; empty if there is little.
std::string warning_of(const LatencyRecorder& times);

// Lets several engines take turns: each line starts a turn of that many seconds, until the lines
// end. Lines that are not numbers count as 0; a turn takes at most an hour. The first run of a turn
// is not measured, because the caches hold another engine's data. Fails as soon as `run` or
// `measure`, which gets the seconds, does.
Status take_turns(std::istream& lines, const std::function<Status()>& run,
                  const std::function<Status(double seconds)>& measure);

}  // namespace shoal::fit
