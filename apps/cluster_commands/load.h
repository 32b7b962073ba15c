// shoal load: its settings, and the row and JSON fields of its result.
#pragma once

#include <string>

#include "shoal/base/text/facts.h"
#include "shoal/base/text/setting.h"
#include "shoal/serve/http/load.h"

namespace shoal::serve {

struct LoadSettings {
  std::string url = {}, model = {};
  std::string key_file = {}, trusted_file = {};
  int clients = 1;
  double seconds = 5;
  double rate = 0;
  int64_t items = 1, timeout_us = 0;

  // Reads the files. kInvalidArgument if a key file has no key; otherwise fails as these files do.
  Result<LoadOptions> options() const;
};

// All but the URL and the model, by their names.
SettingList settings_of(LoadSettings& settings);

Facts facts_of(const LoadResult& result, const LoadOptions& options);

}  // namespace shoal::serve
