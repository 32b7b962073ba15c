// A scheduler's choices: tasks, and the variants of each at the places where they can run [Han
// 2016]. Values.
//
//   Task digits{.name = "digits", .latency_ms = 50};
//   digits.options = {{.variant = "v0", .accuracy = 0.99, .ms = 8, .joules = 0.02, .bytes =
//   1'700'000},
//                     {.variant = "v4", .accuracy = 0.97, .ms = 1, .joules = 0.002, .bytes =
//                     90'000}};
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::schedule {

enum class Place : uint8_t {
  kHere,    // on this device
  kCloud,   // on another server
  kSplit,   // first layers here, the rest on that server
  kWorker,  // on another machine nearby
};
const char* name_of(Place place);

// The first layers shared by several networks, stored once and run once per input [Han 2016].
struct Fragment {
  std::string name = {};
  double ms = 0, joules = 0;
  int64_t bytes = 0;
};

// A cascade's second network [Han 2016], for inputs that the first does not answer.
struct Fallback {
  double share = 0;     // of inputs that the first one does not answer, as far as known beforehand
  double accuracy = 0;  // of the second one
  double ms = 0, joules = 0, dollars = 0;
};

// A variant at a place. Costs are per answer and without its fragment.
struct Option {
  std::string variant = {};
  Place place = Place::kHere;
  double accuracy = 0;  // a share; of a cascade: where the first network answers
  double ms = 0, joules = 0, dollars = 0;
  int64_t bytes = 0;                    // of memory here, while it is resident
  double sent_bytes = 0;                // to another machine
  size_t cut = 0;                       // of a split network: how many of its nodes run here
  std::optional<size_t> fragment = {};  // of Catalog::fragments
  std::optional<Fallback> fallback = {};

  bool needs_cloud() const { return place == Place::kCloud || place == Place::kSplit; }
  bool needs_worker() const { return place == Place::kWorker; }
  bool needs_memory() const { return place == Place::kHere || place == Place::kSplit; }
};

struct Task {
  std::string name = {};
  double latency_ms = std::numeric_limits<double>::infinity();  // an answer after it is missed
  double weight = 1;                                            // of its accuracy
  double requests_per_day = 0;                                  // as expected beforehand
  std::vector<Option> options = {};
};

struct Catalog {
  std::vector<Fragment> fragments = {};
  std::vector<Task> tasks = {};
};

// The budget of a day. Joules and dollars are spent; bytes are available at any time.
struct Budgets {
  double joules = 0, dollars = 0;
  int64_t bytes = 0;
  double seconds = 36'000;  // of the day
};

// What it takes to read a variant into memory [Han 2016].
struct Paging {
  double joules_per_byte = 0, seconds_per_byte = 0;
};

// A network on another server [Han 2016]: what it takes from here.
struct Cloud {
  double round_trip_ms = 20;
  double bytes_per_second = 1e6;  // of the uplink
  double radio_watts = 1;
  double speed = 10;  // how many times faster it computes
  double dollars_per_second = 1e-4;
};

// The same variant there: latency = round trip + upload + compute, energy = radio * upload, dollars
// = price * compute.
Option in_cloud(const Option& here, const Cloud& cloud, double input_bytes);

// The same on a machine nearby, which costs no money.
Option on_worker(const Option& here, const Cloud& worker, double input_bytes);

// A split variant: where it is cut, the share of work and the bytes of constants before that, and
// what is sent in place of the input.
struct Cut {
  size_t nodes = 0;
  double share = 0;
  int64_t bytes = 0;
  double sent_bytes = 0;
};
Option in_split(const Option& here, const Cloud& cloud, const Cut& cut);

// kInvalidArgument for impossible figures, repeated names, or more than 64 tasks, 64 options each,
// or 4 fragments.
Status check(const Catalog& catalog);
Status check(const Budgets& budgets);

}  // namespace shoal::schedule
