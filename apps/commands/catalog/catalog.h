// shoal catalog and shoal specialise: their settings, and the rows, JSON fields and sentences of
// their results; days of a scheduler in virtual time, of the files that describe them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/variants/catalog/builder/build.h"
#include "shoal/variants/catalog/make_variants.h"
#include "shoal/variants/catalog/specialists/specialise.h"
#include "shoal/variants/scheduler/simulation/days.h"

namespace shoal::catalog {

// A row for each variant.
std::vector<Facts> rows_of(const std::vector<Variant>& variants);

Json to_json(const VariantsResult& result);
std::vector<Facts> rows_of(const VariantsResult& result);
std::vector<std::string> lines_of(const VariantsResult& result);

Json to_json(const BuildResult& result);
std::vector<Facts> rows_of(const BuildResult& result);
std::vector<std::string> lines_of(const BuildResult& result);

// Costs of the cascade are shares of the general network's.
Json to_json(const SpecialiseResult& result);
std::vector<Facts> rows_of(const SpecialiseResult& result);
std::vector<std::string> lines_of(const SpecialiseResult& result);

struct SpecialiseSettings {
  SpecialiseOptions options;
  std::string general = {};  // the model that answers where the special one is not sure; empty: it
                             // is the one that was given
};

// All but files.
SettingList settings_of(SpecialiseSettings& settings);

// All options, with a head that is trained and written according to `recipe`, and features beside
// the file unless they have a folder.
SpecialiseOptions resolve(const SpecialiseSettings& settings, fit::TrainingOptions recipe);

}  // namespace shoal::catalog

namespace shoal::schedule {

Facts facts_of(const DaysReport& days);

// The options of all tasks, as rows; with `days`, with the number of their answers.
std::vector<Facts> option_rows(const Catalog& catalog, const DaysReport* days = nullptr);
// The same for scripts, task by task.
Json tasks_json(const Catalog& catalog, const DaysReport* days = nullptr);

}  // namespace shoal::schedule

namespace shoal::config {

struct DaysSettings {
  std::string catalog = {}, trace = {};  // files, as read_tasks() and read_trace() take them
  std::string log = {};                  // a file for every decision and its reasons; empty: none
  uint64_t days = 1, seed = 1;
};

struct SimulatedDays {
  schedule::Catalog catalog;
  schedule::Trace trace;
  schedule::DaysReport report;
};

// Simulates all days, by one scheduler that continues to learn. Fails as the files do, and with
// kInvalidArgument if the log cannot be written.
Result<SimulatedDays> simulate_days(const DaysSettings& settings);

}  // namespace shoal::config
