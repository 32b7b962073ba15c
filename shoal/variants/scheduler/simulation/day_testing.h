// Workloads for tests: catalogs, budgets and days that are drawn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "shoal/variants/scheduler/simulation/days.h"

namespace shoal::schedule {

// The number of drawn cases: `usual`, or SHOAL_WORKLOADS up to `most`.
inline uint64_t cases(uint64_t usual, uint64_t most) {
  const char* wanted = std::getenv("SHOAL_WORKLOADS");
  return wanted != nullptr ? std::min<uint64_t>(std::strtoull(wanted, nullptr, 10), most) : usual;
}

struct Workload {
  Catalog catalog;
  Budgets budgets;
  Paging paging;
  Usage usage;

  std::vector<Request> day(uint64_t seed) const {
    return draw_day(usage, budgets.seconds, seed, 0);
  }
};

// Variants whose accuracy falls slowly at first while they shrink by up to `most` times, each here
// and, dearer, in the cloud.
inline std::vector<Option> family(std::mt19937_64& random, size_t variants, double most,
                                  const Cloud& cloud) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  const double best = uniform(0.6, 0.99), joules = uniform(0.2, 4), ms = uniform(20, 200);
  const double bytes = uniform(5e6, 100e6), lost = uniform(0.05, 0.4);
  std::vector<Option> options;
  for (size_t i = 0; i < variants; ++i) {
    const double part =
        variants > 1 ? static_cast<double>(i) / static_cast<double>(variants - 1) : 0;
    const double shrunk = std::pow(most, -part) * uniform(0.9, 1.1);
    options.push_back({.variant = "v" + std::to_string(i),
                       .accuracy = best * (1 - lost * part * part),
                       .ms = ms * shrunk,
                       .joules = joules * shrunk,
                       .bytes = static_cast<int64_t>(bytes * shrunk)});
  }
  for (size_t i = 0; i < variants; i += 3) {
    options.push_back(in_cloud(options[i], cloud, 100e3));
  }
  return options;
}

// Tasks of all kinds with rates that change over the day. Budgets are from a tenth of the largest
// variants' cost to more than it; expectations are wrong by up to twice.
inline Workload draw_workload(uint64_t seed, double requests) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  const auto log_uniform = [&](double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  };
  Workload all;
  const size_t tasks = 1 + random() % 8;
  const Cloud cloud{.round_trip_ms = uniform(10, 100),
                    .bytes_per_second = log_uniform(1e5, 1e7),
                    .radio_watts = 1,
                    .speed = uniform(2, 20),
                    .dollars_per_second = 1e-4};
  double joules = 0, dollars = 0, bytes = 0, largest = 0;
  for (size_t t = 0; t < tasks; ++t) {
    Task task{.name = "t" + std::to_string(t)};
    task.options = family(random, 2 + random() % 9, uniform(4, 40), cloud);
    if (random() % 3 == 0) task.latency_ms = uniform(0.3, 2) * task.options[0].ms;
    Stream stream{.tasks = {t}, .spread = uniform(0, 0.5)};
    const double level = uniform(0.2, 1) * requests / static_cast<double>(tasks) / 10;
    for (size_t hour = 0; hour < 10; ++hour) stream.per_hour.push_back(level * uniform(0.2, 2));
    all.usage.streams.push_back(stream);
    const Option& first = task.options[0];
    const double count = 10 * level;
    task.requests_per_day = count * log_uniform(0.5, 2);
    joules += count * first.joules;
    for (const Option& option : task.options) {
      if (option.place == Place::kCloud) dollars = std::max(dollars, requests * option.dollars);
    }
    bytes += static_cast<double>(first.bytes);
    largest = std::max(largest, static_cast<double>(first.bytes));
    all.catalog.tasks.push_back(std::move(task));
  }
  all.usage.down = random() % 2 == 0 ? uniform(0, 0.5) : 0;
  all.usage.down_seconds = uniform(60, 3600);
  all.budgets = {.joules = joules * log_uniform(0.1, 1.5),
                 .dollars = random() % 4 == 0 ? 0 : dollars * log_uniform(0.02, 1),
                 .bytes = static_cast<int64_t>(bytes * uniform(0.25, 1.1)),
                 .seconds = 36'000};
  // Reading the largest variant takes as long and as much as a few answers.
  all.paging = {.joules_per_byte = uniform(1, 5) / largest, .seconds_per_byte = 0.2 / largest};
  return all;
}

}  // namespace shoal::schedule
